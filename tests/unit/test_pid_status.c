/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "unit.h"

static const char good[] = "Name:\tcat\n"
                           "Umask:\t0022\n"
                           "State:\tS (sleeping)\n"
                           "Pid:\t3799\n"
                           "Groups:\t \n"
                           "VmPeak:\t    3060 kB\n"
                           "VmHWM:\t    1628 kB\n"
                           "VmRSS:\t    1600 kB\n"
                           "RssAnon:\t     116 kB\n"
                           "RssFile:\t    1512 kB\n"
                           "RssShmem:\t      40 kB\n"
                           "VmSwap:\t       8 kB\n"
                           "HugetlbPages:\t       0 kB\n"
                           "Threads:\t1\n"
                           "SigBlk:\t0000000000000000\n"
                           "SigIgn:\t0000000000011000\n"
                           "SigCgt:\t0000000000000000\n"
                           "Mems_allowed_list:\t0\n"
                           "voluntary_ctxt_switches:\t150\n"
                           "nonvoluntary_ctxt_switches:\t545\n";

/* Linux 4.4: no RssAnon, RssFile, RssShmem. */
static const char old_kernel[] = "Name:\tcat\n"
                                 "State:\tR (running)\n"
                                 "VmHWM:\t     900 kB\n"
                                 "VmRSS:\t     900 kB\n"
                                 "VmSwap:\t       0 kB\n"
                                 "Threads:\t1\n"
                                 "SigIgn:\t0000000000000000\n"
                                 "voluntary_ctxt_switches:\t1\n"
                                 "nonvoluntary_ctxt_switches:\t2\n";

#define TAIL                                                                                       \
    "SigIgn:\t0000000000000000\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n"

static bool same(const struct pid_status *a, const struct pid_status *b)
{
    return a->has_memory == b->has_memory && a->has_shared == b->has_shared &&
           a->has_swap == b->has_swap && a->high_water_bytes == b->high_water_bytes &&
           a->shared_bytes == b->shared_bytes && a->swap_bytes == b->swap_bytes &&
           a->ignored_signals == b->ignored_signals &&
           a->switches_voluntary == b->switches_voluntary &&
           a->switches_involuntary == b->switches_involuntary;
}

PARSER_HARNESS(parse_pid_status, struct pid_status, same)

static void test_good(void **state)
{
    struct pid_status st;
    assert_int_equal(parse(good, &st), 0);
    assert_true(st.has_memory && st.has_shared && st.has_swap);
    assert_int_equal(st.high_water_bytes, 1628 * 1024);
    assert_int_equal(st.shared_bytes, 1552 * 1024);
    assert_int_equal(st.swap_bytes, 8 * 1024);
    assert_int_equal(st.ignored_signals, 0x11000); /* SIGPIPE and SIGCHLD */
    assert_int_equal(st.switches_voluntary, 150);
    assert_int_equal(st.switches_involuntary, 545);
}

static void test_cut_short(void **state)
{
    check_cuts(good, -ESRCH);
    check_cuts(old_kernel, -ESRCH);
}

static void test_old_kernel(void **state)
{
    struct pid_status st;
    assert_int_equal(parse(old_kernel, &st), 0);
    assert_true(st.has_memory && !st.has_shared && st.has_swap);
    assert_int_equal(st.high_water_bytes, 900 * 1024);
    assert_int_equal(st.shared_bytes, 0);
}

static void test_new_kernel(void **state)
{
    struct pid_status st;
    assert_int_equal(parse("Name:\tcat\nKthread:\t0\nVmHWM:\t1 kB\nVmRSS:\t1 kB\nVmHWM_max:\t9 kB\n"
                           "RssFile:\t2 kB\nRssFileDirty:\t9 kB\nRssShmem:\t3 kB\n"
                           "VmSwap:\t4 kB\nVmSwapped:\tnone\nuntag_mask:\t0xffffffffffffffff\n"
                           "Seccomp_filters:\t0\n" TAIL "x86_Thread_features:\tshstk\n",
                           &st),
                     0);
    assert_int_equal(st.high_water_bytes, 1024);
    assert_int_equal(st.shared_bytes, 5 * 1024);
    assert_int_equal(st.swap_bytes, 4 * 1024);
    assert_int_equal(st.switches_involuntary, 4);
}

static void test_zombie(void **state)
{
    struct pid_status st;
    assert_int_equal(parse("Name:\tgone\nState:\tZ (zombie)\nThreads:\t1\n" TAIL, &st), 0);
    assert_false(st.has_memory || st.has_shared || st.has_swap);
    assert_int_equal(st.high_water_bytes, 0);
    assert_int_equal(st.switches_voluntary, 3);
}

static void test_no_swap(void **state)
{
    struct pid_status st;
    assert_int_equal(
        parse("VmHWM:\t1 kB\nVmRSS:\t1 kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\n" TAIL, &st), 0);
    assert_true(st.has_memory && st.has_shared && !st.has_swap);
}

static void test_half_of_shared(void **state)
{
    struct pid_status st;
    assert_int_equal(parse("VmHWM:\t1 kB\nRssFile:\t7 kB\n" TAIL, &st), 0);
    assert_false(st.has_shared);
    assert_int_equal(st.shared_bytes, 0);
}

/* The kernel writes a newline in a name as \n. */
static void test_name_like_a_line(void **state)
{
    struct pid_status st;
    assert_int_equal(parse("Name:\tx\\nVmHWM:\t9 kB\n" TAIL, &st), 0);
    assert_false(st.has_memory);
    assert_int_equal(parse("Name:\tSigIgn: 1\n" TAIL, &st), 0);
    assert_int_equal(st.ignored_signals, 0);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        "SigIgn:\t0000000000000000\n",
        "SigIgn:\t0\nvoluntary_ctxt_switches:\t1\n",
        "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n",
        "SigIgn:\txyz\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n",
        "SigIgn:\t0\nvoluntary_ctxt_switches:\t\nnonvoluntary_ctxt_switches:\t1\n",
        "VmHWM:\t1 MB\n" TAIL,
        "VmHWM:\t1\n" TAIL,
        "VmHWM:\t1 kBytes\n" TAIL,
        "VmSwap:\t-1 kB\n" TAIL,
        "RssFile:\tmany kB\n" TAIL,
    };
    struct pid_status st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &st), -EBADMSG);
}

static void test_huge(void **state)
{
    struct pid_status st;
    assert_int_equal(parse("VmHWM:\t18014398509481983 kB\nVmRSS:\t1 kB\n" TAIL, &st), 0);
    assert_true(st.high_water_bytes == UINT64_MAX - 1023);
    assert_int_equal(parse("VmHWM:\t18014398509481984 kB\n" TAIL, &st), -EBADMSG);
    assert_int_equal(parse("VmHWM:\t99999999999999999999 kB\n" TAIL, &st), -EBADMSG);
    assert_int_equal(
        parse("RssFile:\t18014398509481983 kB\nRssShmem:\t18014398509481983 kB\n" TAIL, &st),
        -EBADMSG);
    assert_int_equal(parse("SigIgn:\tffffffffffffffff\nvoluntary_ctxt_switches:\t1\n"
                           "nonvoluntary_ctxt_switches:\t18446744073709551615\n",
                           &st),
                     0);
    assert_true(st.ignored_signals == UINT64_MAX && st.switches_involuntary == UINT64_MAX);
    assert_int_equal(parse("SigIgn:\t1ffffffffffffffff\nvoluntary_ctxt_switches:\t1\n"
                           "nonvoluntary_ctxt_switches:\t1\n",
                           &st),
                     -EBADMSG);
}

static void test_namespaces(void **state)
{
    pid_t pids[3] = {0};
    struct scan two = scan_string("Name:\tsh\nNSpid:\t4242\t17\nNSpgid:\t1\n");
    assert_int_equal(parse_pid_namespaces(two, pids, 3), 2);
    assert_int_equal(pids[0], 4242);
    assert_int_equal(pids[1], 17);
    assert_int_equal(parse_pid_namespaces(two, pids, 1), 1);
    assert_int_equal(parse_pid_namespaces(scan_string(good), pids, 3), -ENODATA);
    assert_int_equal(parse_pid_namespaces(scan_string(""), pids, 3), -ESRCH);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t42"), pids, 3), -ENODATA);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t\n"), pids, 3), -EBADMSG);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t1 x\n"), pids, 3), -EBADMSG);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t99999999999\n"), pids, 3), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_namespaces),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_new_kernel),
        cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_no_swap),
        cmocka_unit_test(test_half_of_shared),
        cmocka_unit_test(test_name_like_a_line),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),
    };
    return RUN("pid_status", tests);
}
