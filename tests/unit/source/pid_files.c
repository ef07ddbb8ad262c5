/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"
#include "base/util.h"
#include "unit.h"

#include <stdio.h>

/* ---- pid stat ------------------------------------------------------------------------------- */

#define FIELDS " S 1200 1234 1200 34816 1234 4194304 101 5 7 8 12 3 40 2 20 0 6 0 54223 3133440 397"
#define PID_STAT_TAIL                                                                              \
    " 18446744073709551615 1 1 0 0 0 0 0 0 65536 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 1 1 0\n"

static const char pid_stat_good[] = "1234 (a b) R 1)" FIELDS PID_STAT_TAIL;

/* All but the name, which points into a text that is gone by then. */
static bool pid_stat_same(const struct pid_stat *a, const struct pid_stat *b)
{
    return a->pid == b->pid && a->parent == b->parent && a->state == b->state &&
           a->name_length == b->name_length && a->faults_minor == b->faults_minor &&
           a->start_ticks == b->start_ticks && a->virtual_bytes == b->virtual_bytes &&
           a->rss_pages == b->rss_pages;
}

PARSER_HARNESS(pid_stat, parse_pid_stat, struct pid_stat, pid_stat_same)

static void test_pid_stat_good(void **state)
{
    struct pid_stat st;
    assert_int_equal(pid_stat_parse(pid_stat_good, &st), 0);
    assert_int_equal(st.pid, 1234);
    assert_int_equal(st.parent, 1200);
    assert_int_equal(st.state, 'S');
    assert_int_equal(st.faults_minor, 101);
    assert_int_equal(st.children_faults_minor, 5);
    assert_int_equal(st.faults_major, 7);
    assert_int_equal(st.children_faults_major, 8);
    assert_int_equal(st.user_ticks, 12);
    assert_int_equal(st.system_ticks, 3);
    assert_int_equal(st.children_user_ticks, 40);
    assert_int_equal(st.children_system_ticks, 2);
    assert_int_equal(st.threads, 6);
    assert_int_equal(st.start_ticks, 54223);
    assert_int_equal(st.virtual_bytes, 3133440);
    assert_int_equal(st.rss_pages, 397);
    assert_false(st.is_leaving);
    assert_false(st.before_exec);
    assert_int_equal(st.start_stack, 0);
}

/* Between fork and exec. Old kernels, and texts that were cut, have no address of the stack. */
static void test_pid_stat_before_exec(void **state)
{
    struct pid_stat st;
    assert_int_equal(
        pid_stat_parse("9 (sh) S 1 9 9 0 -1 4194368 1 0 0 0 0 0 0 0 20 0 1 0 77 4096 5 "
                       "18446744073709551615 1000 2000 140725 0 0\n",
                       &st),
        0);
    assert_true(st.before_exec);
    assert_int_equal(st.start_stack, 140725);
    assert_int_equal(
        pid_stat_parse("9 (sh) S 1 9 9 0 -1 64 1 0 0 0 0 0 0 0 20 0 1 0 77 4096 5 1\n", &st), 0);
    assert_int_equal(st.start_stack, 0);
}

/* Still running in the kernel, but not for long. */
static void test_pid_stat_leaving(void **state)
{
    struct pid_stat st;
    assert_int_equal(
        pid_stat_parse("9 (sh) R 1 9 9 0 -1 4194308 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0" PID_STAT_TAIL,
                       &st),
        0);
    assert_true(st.is_leaving);
}

static void test_pid_stat_kernel_thread(void **state)
{
    struct pid_stat st;
    assert_int_equal(pid_stat_parse(pid_stat_good, &st), 0);
    assert_false(st.of_kernel);
    assert_int_equal(
        pid_stat_parse(
            "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 30 0 0" PID_STAT_TAIL, &st),
        0);
    assert_true(st.of_kernel);
}

static void test_pid_stat_names(void **state)
{
    static const char *const names[] = {
        "cat",
        "a b) R 1",
        "a) S 1 2 3 4 5 6 7 8 9 (b",
        "(",
        ")",
        "",
        " ",
        "))",
        "\n",
        "1 (x",
        "kworker/u4:2-events_unbound",
        "\xc3\xa9\xff",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[512];
        snprintf(text, sizeof text, "1234 (%s)" FIELDS PID_STAT_TAIL, names[i]);
        struct pid_stat st;
        assert_int_equal(parse_pid_stat(scan_string(text), &st), 0);
        assert_int_equal(st.name_length, strlen(names[i]));
        assert_memory_equal(st.name, names[i], st.name_length);
        assert_int_equal(st.parent, 1200);
        assert_int_equal(st.rss_pages, 397);
    }
}

static void test_pid_stat_cut_short(void **state)
{
    pid_stat_check_cuts(pid_stat_good, -ESRCH);
    struct pid_stat st;
    assert_int_equal(pid_stat_parse("1234 (a b) R 1)" FIELDS, &st), -EBADMSG); /* 397 or 3970? */
}

static void test_pid_stat_zombie(void **state)
{
    struct pid_stat st;
    assert_int_equal(
        pid_stat_parse("9 (sh) Z 1 9 9 0 -1 4227084 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0" PID_STAT_TAIL,
                       &st),
        0);
    assert_int_equal(st.state, 'Z');
    assert_true(st.is_leaving);
    assert_int_equal(st.rss_pages, 0);
}

/* Linux 2.6 ended earlier, a later one may end later. */
static void test_pid_stat_old_and_new_kernel(void **state)
{
    struct pid_stat st;
    assert_int_equal(pid_stat_parse("1234 (cat)" FIELDS " 4294967295 1 1 0 0 0 0 0\n", &st), 0);
    assert_int_equal(st.rss_pages, 397);
    assert_int_equal(pid_stat_parse("1234 (cat)" FIELDS
                                    " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
                                    "21 22 23 24 25 26 27 28 29 30 31 32\n",
                                    &st),
                     0);
    assert_int_equal(st.rss_pages, 397);
}

static void test_pid_stat_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "1234",
        "1234 ",
        "1234 (",
        "1234 (cat",
        "1234 (cat)",
        "1234 (cat) ",
        "cat (1234)" FIELDS PID_STAT_TAIL,
        "1234 cat" FIELDS PID_STAT_TAIL,
        "1234 (cat)\n" FIELDS PID_STAT_TAIL "x",
        "1234 (cat) S x 1 1 0 0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "1234 (cat) S 1 1 1 0\n0 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "1234 (cat)" FIELDS PID_STAT_TAIL ")",
    };
    struct pid_stat st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(pid_stat_parse(texts[i], &st), -EBADMSG);
}

static void test_pid_stat_huge(void **state)
{
    struct pid_stat st;
    assert_int_equal(
        pid_stat_parse("2147483647 (cat) S 0 1 1 0 -1 0 18446744073709551615 0 0 0 0 0 0 0 20 0 "
                       "1 0 1 18446744073709551615 1 0\n",
                       &st),
        0);
    assert_int_equal(st.pid, 2147483647);
    assert_true(st.faults_minor == UINT64_MAX && st.virtual_bytes == UINT64_MAX);
    assert_int_equal(pid_stat_parse("2147483648 (cat)" FIELDS PID_STAT_TAIL, &st), -EBADMSG);
    assert_int_equal(pid_stat_parse("4294967297 (cat)" FIELDS PID_STAT_TAIL, &st), -EBADMSG);
    assert_int_equal(
        pid_stat_parse("1 (cat) S 4294967297 1 1 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 1 1 1 0\n", &st),
        -EBADMSG);
    assert_int_equal(
        pid_stat_parse("1 (cat) S 0 1 1 0 -1 0 18446744073709551616 0 0 0 0 0 0 0 20 0 1 0 1 1 "
                       "1 0\n",
                       &st),
        -EBADMSG);
}

/* ---- pid status ----------------------------------------------------------------------------- */

static const char pid_status_good[] = "Name:\tcat\n"
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
static const char pid_status_old_kernel[] = "Name:\tcat\n"
                                            "State:\tR (running)\n"
                                            "VmHWM:\t     900 kB\n"
                                            "VmRSS:\t     900 kB\n"
                                            "VmSwap:\t       0 kB\n"
                                            "Threads:\t1\n"
                                            "SigIgn:\t0000000000000000\n"
                                            "voluntary_ctxt_switches:\t1\n"
                                            "nonvoluntary_ctxt_switches:\t2\n";

#define PID_STATUS_TAIL                                                                            \
    "SigIgn:\t0000000000000000\nvoluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t4\n"

static bool pid_status_same(const struct pid_status *a, const struct pid_status *b)
{
    return a->has_memory == b->has_memory && a->has_shared == b->has_shared &&
           a->has_swap == b->has_swap && a->high_water_bytes == b->high_water_bytes &&
           a->shared_bytes == b->shared_bytes && a->swap_bytes == b->swap_bytes &&
           a->ignored_signals == b->ignored_signals &&
           a->switches_voluntary == b->switches_voluntary &&
           a->switches_involuntary == b->switches_involuntary;
}

PARSER_HARNESS(pid_status, parse_pid_status, struct pid_status, pid_status_same)

static void test_pid_status_pending(void **state)
{
    uint64_t signals = 0;
    struct scan s = scan_string("Threads:\t1\nSigPnd:\t0000000000000100\nShdPnd:\t1\n");
    assert_int_equal(parse_pid_pending(s, &signals), 0);
    assert_int_equal(signals, 0x100);
    assert_int_equal(parse_pid_pending(scan_string("SigPnd:\tx\n"), &signals), -EBADMSG);
    assert_int_equal(parse_pid_pending(scan_string("ShdPnd:\t1\n"), &signals), -EBADMSG);
    assert_int_equal(parse_pid_pending(scan_string(""), &signals), -ESRCH);
}

static void test_pid_status_good(void **state)
{
    struct pid_status st;
    assert_int_equal(pid_status_parse(pid_status_good, &st), 0);
    assert_true(st.has_memory && st.has_shared && st.has_swap);
    assert_int_equal(st.high_water_bytes, 1628 * 1024);
    assert_int_equal(st.shared_bytes, 1552 * 1024);
    assert_int_equal(st.swap_bytes, 8 * 1024);
    assert_int_equal(st.ignored_signals, 0x11000); /* SIGPIPE and SIGCHLD */
    assert_int_equal(st.switches_voluntary, 150);
    assert_int_equal(st.switches_involuntary, 545);
}

static void test_pid_status_cut_short(void **state)
{
    pid_status_check_cuts(pid_status_good, -ESRCH);
    pid_status_check_cuts(pid_status_old_kernel, -ESRCH);
}

static void test_pid_status_old_kernel(void **state)
{
    struct pid_status st;
    assert_int_equal(pid_status_parse(pid_status_old_kernel, &st), 0);
    assert_true(st.has_memory && !st.has_shared && st.has_swap);
    assert_int_equal(st.high_water_bytes, 900 * 1024);
    assert_int_equal(st.shared_bytes, 0);
}

static void test_pid_status_new_kernel(void **state)
{
    struct pid_status st;
    assert_int_equal(
        pid_status_parse("Name:\tcat\nKthread:\t0\nVmHWM:\t1 kB\nVmRSS:\t1 kB\nVmHWM_max:\t9 kB\n"
                         "RssFile:\t2 kB\nRssFileDirty:\t9 kB\nRssShmem:\t3 kB\n"
                         "VmSwap:\t4 kB\nVmSwapped:\tnone\nuntag_mask:\t0xffffffffffffffff\n"
                         "Seccomp_filters:\t0\n" PID_STATUS_TAIL "x86_Thread_features:\tshstk\n",
                         &st),
        0);
    assert_int_equal(st.high_water_bytes, 1024);
    assert_int_equal(st.shared_bytes, 5 * 1024);
    assert_int_equal(st.swap_bytes, 4 * 1024);
    assert_int_equal(st.switches_involuntary, 4);
}

static void test_pid_status_zombie(void **state)
{
    struct pid_status st;
    assert_int_equal(
        pid_status_parse("Name:\tgone\nState:\tZ (zombie)\nThreads:\t1\n" PID_STATUS_TAIL, &st), 0);
    assert_false(st.has_memory || st.has_shared || st.has_swap);
    assert_int_equal(st.high_water_bytes, 0);
    assert_int_equal(st.switches_voluntary, 3);
}

static void test_pid_status_no_swap(void **state)
{
    struct pid_status st;
    assert_int_equal(
        pid_status_parse(
            "VmHWM:\t1 kB\nVmRSS:\t1 kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\n" PID_STATUS_TAIL, &st),
        0);
    assert_true(st.has_memory && st.has_shared && !st.has_swap);
}

static void test_pid_status_half_of_shared(void **state)
{
    struct pid_status st;
    assert_int_equal(pid_status_parse("VmHWM:\t1 kB\nRssFile:\t7 kB\n" PID_STATUS_TAIL, &st), 0);
    assert_false(st.has_shared);
    assert_int_equal(st.shared_bytes, 0);
}

/* The kernel writes a newline in a name as \n. */
static void test_pid_status_name_like_a_line(void **state)
{
    struct pid_status st;
    assert_int_equal(pid_status_parse("Name:\tx\\nVmHWM:\t9 kB\n" PID_STATUS_TAIL, &st), 0);
    assert_false(st.has_memory);
    assert_int_equal(pid_status_parse("Name:\tSigIgn: 1\n" PID_STATUS_TAIL, &st), 0);
    assert_int_equal(st.ignored_signals, 0);
}

static void test_pid_status_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        "SigIgn:\t0000000000000000\n",
        "SigIgn:\t0\nvoluntary_ctxt_switches:\t1\n",
        "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n",
        "SigIgn:\txyz\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n",
        "SigIgn:\t0\nvoluntary_ctxt_switches:\t\nnonvoluntary_ctxt_switches:\t1\n",
        "VmHWM:\t1 MB\n" PID_STATUS_TAIL,
        "VmHWM:\t1\n" PID_STATUS_TAIL,
        "VmHWM:\t1 kBytes\n" PID_STATUS_TAIL,
        "VmSwap:\t-1 kB\n" PID_STATUS_TAIL,
        "RssFile:\tmany kB\n" PID_STATUS_TAIL,
    };
    struct pid_status st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(pid_status_parse(texts[i], &st), -EBADMSG);
}

static void test_pid_status_huge(void **state)
{
    struct pid_status st;
    assert_int_equal(
        pid_status_parse("VmHWM:\t18014398509481983 kB\nVmRSS:\t1 kB\n" PID_STATUS_TAIL, &st), 0);
    assert_true(st.high_water_bytes == UINT64_MAX - 1023);
    assert_int_equal(pid_status_parse("VmHWM:\t18014398509481984 kB\n" PID_STATUS_TAIL, &st),
                     -EBADMSG);
    assert_int_equal(pid_status_parse("VmHWM:\t99999999999999999999 kB\n" PID_STATUS_TAIL, &st),
                     -EBADMSG);
    assert_int_equal(
        pid_status_parse(
            "RssFile:\t18014398509481983 kB\nRssShmem:\t18014398509481983 kB\n" PID_STATUS_TAIL,
            &st),
        -EBADMSG);
    assert_int_equal(pid_status_parse("SigIgn:\tffffffffffffffff\nvoluntary_ctxt_switches:\t1\n"
                                      "nonvoluntary_ctxt_switches:\t18446744073709551615\n",
                                      &st),
                     0);
    assert_true(st.ignored_signals == UINT64_MAX && st.switches_involuntary == UINT64_MAX);
    assert_int_equal(pid_status_parse("SigIgn:\t1ffffffffffffffff\nvoluntary_ctxt_switches:\t1\n"
                                      "nonvoluntary_ctxt_switches:\t1\n",
                                      &st),
                     -EBADMSG);
}

static void test_pid_status_namespaces(void **state)
{
    pid_t pids[3] = {0};
    struct scan two = scan_string("Name:\tsh\nNSpid:\t4242\t17\nNSpgid:\t1\n");
    assert_int_equal(parse_pid_namespaces(two, pids, 3), 2);
    assert_int_equal(pids[0], 4242);
    assert_int_equal(pids[1], 17);
    assert_int_equal(parse_pid_namespaces(two, pids, 1), 1);
    assert_int_equal(parse_pid_namespaces(scan_string(pid_status_good), pids, 3), -ENODATA);
    assert_int_equal(parse_pid_namespaces(scan_string(""), pids, 3), -ESRCH);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t42"), pids, 3), -ENODATA);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t\n"), pids, 3), -EBADMSG);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t1 x\n"), pids, 3), -EBADMSG);
    assert_int_equal(parse_pid_namespaces(scan_string("NSpid:\t99999999999\n"), pids, 3), -EBADMSG);
}

/* ---- pid io --------------------------------------------------------------------------------- */

static const char pid_io_good[] = "rchar: 323934931\n"
                                  "wchar: 323929600\n"
                                  "syscr: 632687\n"
                                  "syscw: 632675\n"
                                  "read_bytes: 4096\n"
                                  "write_bytes: 323932160\n"
                                  "cancelled_write_bytes: 12\n";

PARSER_HARNESS(pid_io, parse_pid_io, struct pid_io, SAME_BYTES)

static void test_pid_io_good(void **state)
{
    struct pid_io io;
    assert_int_equal(pid_io_parse(pid_io_good, &io), 0);
    assert_int_equal(io.read_bytes, 323934931);
    assert_int_equal(io.written_bytes, 323929600);
    assert_int_equal(io.read_calls, 632687);
    assert_int_equal(io.write_calls, 632675);
    assert_int_equal(io.storage_read_bytes, 4096);
    assert_int_equal(io.storage_written_bytes, 323932160);
    assert_int_equal(io.storage_cancelled_bytes, 12);
}

static void test_pid_io_cut_short(void **state)
{
    pid_io_check_cuts(pid_io_good, -ESRCH);
    struct pid_io io;
    assert_int_equal(pid_io_parse_n(pid_io_good, strlen(pid_io_good) - 1, &io),
                     -EBADMSG); /* …: 1 or …: 12? */
}

static void test_pid_io_missing_line(void **state)
{
    struct pid_io io;
    for (const char *line = pid_io_good; *line; line = strchr(line, '\n') + 1) {
        char text[sizeof pid_io_good] = "";
        memcpy(text, pid_io_good, (size_t)(line - pid_io_good));
        memcpy(text + (line - pid_io_good), strchr(line, '\n') + 1, strlen(strchr(line, '\n') + 1));
        assert_int_equal(pid_io_parse(text, &io), -EBADMSG);
    }
}

static void test_pid_io_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "\n\n\n\n\n\n\n",
        "garbage\n",
        "rchar: \nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
        "rchar: -1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
        "rchar: 1x\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
        "rchar 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
    };
    struct pid_io io;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(pid_io_parse(texts[i], &io), -EBADMSG);
    assert_int_equal(pid_io_parse_n("rchar: 1\0\n", 10, &io), -EBADMSG);
}

static void test_pid_io_huge(void **state)
{
    struct pid_io io;
    assert_int_equal(pid_io_parse("rchar: 18446744073709551615\nwchar: 1\nsyscr: 1\nsyscw: 1\n"
                                  "read_bytes: 1\nwrite_bytes: 1\ncancelled_write_bytes: 1\n",
                                  &io),
                     0);
    assert_true(io.read_bytes == UINT64_MAX);
    assert_int_equal(pid_io_parse("rchar: 18446744073709551616\nwchar: 1\nsyscr: 1\nsyscw: 1\n"
                                  "read_bytes: 1\nwrite_bytes: 1\ncancelled_write_bytes: 1\n",
                                  &io),
                     -EBADMSG);
}

/* Linux 4.x writes the same seven lines; a later kernel may add some anywhere. */
static void test_pid_io_new_kernel(void **state)
{
    struct pid_io io;
    assert_int_equal(pid_io_parse("rchar: 1\nrchar_direct: 90\nwchar: 2\nsyscr: 3\nsyscw: 4\n"
                                  "read_bytes: 5\nread_bytes_max: 91\nwrite_bytes: 6\n"
                                  "cancelled_write_bytes: 7\ndiscarded_bytes: 92\n",
                                  &io),
                     0);
    assert_int_equal(io.read_bytes, 1);
    assert_int_equal(io.storage_read_bytes, 5);
    assert_int_equal(io.storage_cancelled_bytes, 7);
}

/* ---- statm ---------------------------------------------------------------------------------- */

PARSER_HARNESS(statm, parse_statm, struct statm, SAME_BYTES)

static void test_statm_good(void **state)
{
    struct statm st;
    assert_int_equal(statm_parse("765 407 378 5 0 123 0\n", &st), 0);
    assert_int_equal(st.virtual_pages, 765);
    assert_int_equal(st.rss_pages, 407);
    assert_int_equal(st.shared_pages, 378);
}

static void test_statm_zombie(void **state)
{
    struct statm st;
    assert_int_equal(statm_parse("0 0 0 0 0 0 0\n", &st), 0);
    assert_int_equal(st.rss_pages, 0);
}

static void test_statm_new_kernel(void **state)
{
    struct statm st;
    assert_int_equal(statm_parse("765 407 378 5 0 123 0 99 98\n", &st), 0);
    assert_int_equal(st.shared_pages, 378);
}

static void test_statm_cut_short(void **state)
{
    statm_check_cuts("765 407 378 5 0 123 0\n", -ESRCH);
    struct statm st;
    assert_int_equal(statm_parse("765 407 37", &st), -EBADMSG);
}

static void test_statm_garbage(void **state)
{
    static const char *const texts[] = {"\n",        "x",          "1 2\n3 4\n",
                                        "1 2 x 4\n", "1 -2 3 4\n", "1.5 2 3 4"};
    struct statm st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(statm_parse(texts[i], &st), -EBADMSG);
}

static void test_statm_huge(void **state)
{
    struct statm st;
    assert_int_equal(statm_parse("18446744073709551615 1 1 0 0 0 0\n", &st), 0);
    assert_true(st.virtual_pages == UINT64_MAX);
    assert_int_equal(statm_parse("1 1 18446744073709551616 0 0 0 0\n", &st), -EBADMSG);
}

/* ---- schedstat ------------------------------------------------------------------------------ */

PARSER_HARNESS(schedstat, parse_schedstat, struct schedstat, SAME_BYTES)

static void test_schedstat_good(void **state)
{
    struct schedstat st;
    assert_int_equal(schedstat_parse("1084908 52110 17\n", &st), 0);
    assert_int_equal(st.run_ns, 1084908);
    assert_int_equal(st.wait_ns, 52110);
}

/* A kernel that keeps no such books writes zeros. */
static void test_schedstat_switched_off(void **state)
{
    struct schedstat st;
    assert_int_equal(schedstat_parse("0 0 0\n", &st), 0);
    assert_int_equal(st.run_ns, 0);
}

static void test_schedstat_new_kernel(void **state)
{
    struct schedstat st;
    assert_int_equal(schedstat_parse("1 2 3 4 5\n", &st), 0);
    assert_int_equal(st.wait_ns, 2);
}

static void test_schedstat_cut_short(void **state)
{
    schedstat_check_cuts("1084908 52110 17\n", -ESRCH);
    struct schedstat st;
    assert_int_equal(schedstat_parse("1084908 5211", &st), -EBADMSG);
}

static void test_schedstat_garbage(void **state)
{
    static const char *const texts[] = {"\n", "x", "1\n2 3\n", "1 x 3\n", "-1 2 3\n", "1 -2 3\n"};
    struct schedstat st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(schedstat_parse(texts[i], &st), -EBADMSG);
}

static void test_schedstat_huge(void **state)
{
    struct schedstat st;
    assert_int_equal(schedstat_parse("18446744073709551615 18446744073709551615 1\n", &st), 0);
    assert_true(st.run_ns == UINT64_MAX && st.wait_ns == UINT64_MAX);
    assert_int_equal(schedstat_parse("18446744073709551616 1 1\n", &st), -EBADMSG);
}

/* ---- smaps rollup --------------------------------------------------------------------------- */

#define HEAD "5628027a0000-7ffc90b4e000 ---p 00000000 00:00 0                          [rollup]\n"

static const char new_kernel[] = HEAD "Rss:                1628 kB\n"
                                      "Pss:                 506 kB\n"
                                      "Pss_Dirty:           117 kB\n"
                                      "Pss_Anon:            116 kB\n"
                                      "Pss_File:            390 kB\n"
                                      "Pss_Shmem:             0 kB\n"
                                      "Shared_Clean:       1436 kB\n"
                                      "Shared_Dirty:          0 kB\n"
                                      "Private_Clean:        76 kB\n"
                                      "Private_Dirty:       116 kB\n"
                                      "Referenced:         1628 kB\n"
                                      "KSM:                   0 kB\n"
                                      "Private_Hugetlb:       0 kB\n"
                                      "SwapPss:               0 kB\n"
                                      "Locked:                0 kB\n";

/* Linux 4.14, the first with the file. */
static const char smaps_rollup_old_kernel[] = HEAD "Rss:                 884 kB\n"
                                                   "Pss:                 385 kB\n"
                                                   "Shared_Clean:        696 kB\n"
                                                   "Shared_Dirty:          0 kB\n"
                                                   "Private_Clean:       120 kB\n"
                                                   "Private_Dirty:        68 kB\n"
                                                   "Referenced:          884 kB\n"
                                                   "Anonymous:            68 kB\n"
                                                   "LazyFree:              0 kB\n"
                                                   "Swap:                  0 kB\n"
                                                   "SwapPss:               0 kB\n"
                                                   "Locked:              385 kB\n";

PARSER_HARNESS(smaps_rollup, parse_smaps_rollup, struct smaps_rollup, SAME_BYTES)

static void test_smaps_rollup_new_kernel(void **state)
{
    struct smaps_rollup st;
    assert_int_equal(smaps_rollup_parse(new_kernel, &st), 0);
    assert_int_equal(st.rss_bytes, 1628 * 1024);
    assert_int_equal(st.pss_bytes, 506 * 1024);
    assert_int_equal(st.uss_bytes, 192 * 1024);
}

static void test_smaps_rollup_old_kernel(void **state)
{
    struct smaps_rollup st;
    assert_int_equal(smaps_rollup_parse(smaps_rollup_old_kernel, &st), 0);
    assert_int_equal(st.pss_bytes, 385 * 1024);
    assert_int_equal(st.uss_bytes, 188 * 1024);
}

static void test_smaps_rollup_cut_short(void **state)
{
    smaps_rollup_check_cuts(new_kernel, -ESRCH);
    smaps_rollup_check_cuts(smaps_rollup_old_kernel, -ESRCH);
}

static void test_smaps_rollup_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        HEAD,
        "Pss_Dirty: 1 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: 1 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Rss: 1 kB\nPss: 1 kB\nPrivate_Clean: 1 kB\n",
        "Pss: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: 1\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: 1 mB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        "Pss: kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
        " Pss: 1 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n",
    };
    struct smaps_rollup st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(smaps_rollup_parse(texts[i], &st), -EBADMSG);
}

static void test_smaps_rollup_huge(void **state)
{
    struct smaps_rollup st;
    assert_int_equal(
        smaps_rollup_parse(
            "Rss: 9 kB\nPss: 18014398509481983 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 1 kB\n",
            &st),
        0);
    assert_true(st.pss_bytes == UINT64_MAX - 1023);
    assert_int_equal(
        smaps_rollup_parse(
            "Rss: 9 kB\nPss: 18014398509481984 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 1 kB\n",
            &st),
        -EBADMSG);
    assert_int_equal(
        smaps_rollup_parse(
            "Rss: 9 kB\nPss: 1 kB\nPrivate_Clean: 18014398509481983 kB\nPrivate_Dirty: 1 kB\n",
            &st),
        -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pid_stat_good),
        cmocka_unit_test(test_pid_stat_kernel_thread),
        cmocka_unit_test(test_pid_stat_names),
        cmocka_unit_test(test_pid_stat_cut_short),
        cmocka_unit_test(test_pid_stat_zombie),
        cmocka_unit_test(test_pid_stat_old_and_new_kernel),
        cmocka_unit_test(test_pid_stat_garbage),
        cmocka_unit_test(test_pid_stat_huge),
        cmocka_unit_test(test_pid_stat_before_exec),
        cmocka_unit_test(test_pid_stat_leaving),
        cmocka_unit_test(test_pid_status_namespaces),
        cmocka_unit_test(test_pid_status_pending),
        cmocka_unit_test(test_pid_status_good),
        cmocka_unit_test(test_pid_status_cut_short),
        cmocka_unit_test(test_pid_status_old_kernel),
        cmocka_unit_test(test_pid_status_new_kernel),
        cmocka_unit_test(test_pid_status_zombie),
        cmocka_unit_test(test_pid_status_no_swap),
        cmocka_unit_test(test_pid_status_half_of_shared),
        cmocka_unit_test(test_pid_status_name_like_a_line),
        cmocka_unit_test(test_pid_status_garbage),
        cmocka_unit_test(test_pid_status_huge),
        cmocka_unit_test(test_pid_io_good),
        cmocka_unit_test(test_pid_io_cut_short),
        cmocka_unit_test(test_pid_io_missing_line),
        cmocka_unit_test(test_pid_io_garbage),
        cmocka_unit_test(test_pid_io_huge),
        cmocka_unit_test(test_pid_io_new_kernel),
        cmocka_unit_test(test_statm_good),
        cmocka_unit_test(test_statm_zombie),
        cmocka_unit_test(test_statm_new_kernel),
        cmocka_unit_test(test_statm_cut_short),
        cmocka_unit_test(test_statm_garbage),
        cmocka_unit_test(test_statm_huge),
        cmocka_unit_test(test_schedstat_good),
        cmocka_unit_test(test_schedstat_switched_off),
        cmocka_unit_test(test_schedstat_new_kernel),
        cmocka_unit_test(test_schedstat_cut_short),
        cmocka_unit_test(test_schedstat_garbage),
        cmocka_unit_test(test_schedstat_huge),
        cmocka_unit_test(test_smaps_rollup_new_kernel),
        cmocka_unit_test(test_smaps_rollup_old_kernel),
        cmocka_unit_test(test_smaps_rollup_cut_short),
        cmocka_unit_test(test_smaps_rollup_garbage),
        cmocka_unit_test(test_smaps_rollup_huge),
    };
    return RUN("source/pid_files", tests);
}
