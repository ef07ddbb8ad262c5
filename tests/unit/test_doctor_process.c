/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"

#define STAT                                                                                       \
    "7 (toll) R 1 7 7 0 -1 4194304 100 0 0 0 5 3 0 0 20 0 1 0 100 8192000 500 "                    \
    "18446744073709551615 "                                                                        \
    "1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
#define IO                                                                                         \
    "rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: 0\n"                      \
    "cancelled_write_bytes: 0\n"
#define ROLLUP                                                                                     \
    "00400000-7ffe [rollup]\nRss: 900 kB\nPss: 200 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 8 kB\n"

static void test_figures(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_cpu, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    assert_not_ok(&p, doctor_memory, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/self/stat", STAT);
    assert_ok(&p, doctor_cpu, "");
    assert_string_equal(p.finding.quality, "exact");
    assert_ok(&p, doctor_memory, "");
    assert_string_equal(p.finding.quality, "sampled");

    assert_not_ok(&p, doctor_io, TOLL_CHECK_MISSING, "a kernel with CONFIG_TASK_IO_ACCOUNTING=y");
    tree_write(&p.tree, "proc/self/io", IO);
    assert_ok(&p, doctor_io, "");
    patient_remove(&p);
}

static void test_pss(void **state)
{
    struct patient p;
    patient_make(&p, "4.9.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_pss, TOLL_CHECK_MISSING, "Linux 4.14 or later");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "5.10.0\n");
    assert_not_ok(&p, doctor_pss, TOLL_CHECK_MISSING, "a kernel with CONFIG_PROC_PAGE_MONITOR=y");
    tree_write(&p.tree, "proc/self/smaps_rollup", "Rss: 1 kB\n");
    assert_not_ok(&p, doctor_pss, TOLL_CHECK_MISSING, "a kernel with CONFIG_PROC_PAGE_MONITOR=y");
    tree_write(&p.tree, "proc/self/smaps_rollup", ROLLUP);
    assert_ok(&p, doctor_pss, "");
    patient_remove(&p);
}

/* A file full of zeros says that nobody counts. */
static void test_waits(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_waits, TOLL_CHECK_MISSING, "a kernel with CONFIG_SCHEDSTATS=y");
    tree_write(&p.tree, "proc/self/schedstat", "0 0 0\n");
    assert_not_ok(&p, doctor_waits, TOLL_CHECK_MISSING, "a kernel with CONFIG_SCHEDSTATS=y");
    tree_write(&p.tree, "proc/self/schedstat", "1000 0 2\n");
    assert_ok(&p, doctor_waits, "");
    patient_remove(&p);
}

static void test_children(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_children, TOLL_CHECK_PARTLY, "a kernel with CONFIG_PROC_CHILDREN=y");
    tree_write(&p.tree, "proc/thread-self/children", "");
    assert_ok(&p, doctor_children, "");
    patient_remove(&p);
}

static void test_unwaited(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_ok(&p, doctor_unwaited, "");
    tree_write(&p.tree, "proc/self/status", "SigIgn:\t0000000000010000\n");
    assert_not_ok(&p, doctor_unwaited, TOLL_CHECK_PARTLY, "env --default-signal=CHLD toll run …");
    assert_string_equal(p.finding.quality, "lower bound");
    patient_remove(&p);
}

static void test_watch_exits(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_watch_exits, TOLL_CHECK_MISSING, "a kernel with CONFIG_PERF_EVENTS=y");
    tree_write(&p.tree, "proc/sys/kernel/perf_event_paranoid", "2\n");
    assert_ok(&p, doctor_watch_exits, "");
    assert_string_equal(p.finding.quality, "exact");
    tree_write(&p.tree, "proc/sys/kernel/perf_event_paranoid", "-1\n");
    assert_ok(&p, doctor_watch_exits, "");
    tree_write(&p.tree, "proc/sys/kernel/perf_event_paranoid", "4\n");
    assert_not_ok(&p, doctor_watch_exits, TOLL_CHECK_MISSING,
                  "sysctl kernel.perf_event_paranoid=2");
    assert_string_equal(p.finding.detail.data, "perf_event_paranoid is 4");
    tree_write(&p.tree, "proc/self/status", STATUS_OF_ROOT);
    assert_ok(&p, doctor_watch_exits, "");
    patient_remove(&p);
}

static void test_ends(void **state)
{
    struct patient p;
    patient_make(&p, "5.2.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_ends, TOLL_CHECK_PARTLY,
                  "Linux 5.3 or later; 6.15 for the exit status");
    assert_string_equal(p.finding.quality, "sampled");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "5.3.0\n");
    assert_not_ok(&p, doctor_ends, TOLL_CHECK_PARTLY, "Linux 6.15 or later");
    assert_string_equal(p.finding.quality, "exact");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "6.15.0\n");
    assert_ok(&p, doctor_ends, "with exit status");
    patient_remove(&p);
}

#define LIMITS(hard)                                                                               \
    "Limit                     Soft Limit           Hard Limit           Units\n"                  \
    "Max open files            256                  " hard "               files\n"

static void test_open_files(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    patient_probe(&p, doctor_open_files);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    tree_write(&p.tree, "proc/self/limits", LIMITS("524288"));
    assert_ok(&p, doctor_open_files, "524288");
    tree_write(&p.tree, "proc/self/limits", LIMITS("unlimited"));
    assert_ok(&p, doctor_open_files, "unlimited");
    tree_write(&p.tree, "proc/self/limits", LIMITS("1000"));
    assert_not_ok(&p, doctor_open_files, TOLL_CHECK_PARTLY, "ulimit -Hn 65536");
    tree_write(&p.tree, "proc/self/limits", "Max open files\n");
    patient_probe(&p, doctor_open_files);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    patient_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),    cmocka_unit_test(test_pss),
        cmocka_unit_test(test_waits),      cmocka_unit_test(test_children),
        cmocka_unit_test(test_unwaited),   cmocka_unit_test(test_ends),
        cmocka_unit_test(test_open_files), cmocka_unit_test(test_watch_exits),
    };
    return RUN("doctor_process", tests);
}
