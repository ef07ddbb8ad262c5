/* SPDX-License-Identifier: MIT */
#include "source/machine/cpu.h"

#include "base/util.h"
#include "unit.h"

#define TAIL                                                                                       \
    "intr 9598926 0 0 17 0 4302\nctxt 22054369\nbtime 1794778006\nprocesses 1889347\n"             \
    "procs_running 5\nprocs_blocked 1\nsoftirq 6789574 0 782302\n"

static const char good[] = "cpu  395580 1959 445594 1508054 8999 7 2655 6161 80 9\n"
                           "cpu0 186345 963 223657 767478 2284 3 358 3084 80 0\n"
                           "cpu3 209234 995 221937 740575 6714 4 2297 3077 0 9\n" TAIL;

/* A cut text may have less, never anything else. */
static bool same(const struct proc_stat *whole, const struct proc_stat *cut)
{
    for (unsigned n = 0; n < STAT_COUNTS; n++)
        if (cut->seen & BIT(n) && whole->counts[n] != cut->counts[n])
            return false;
    return whole->cpu_count == cut->cpu_count && whole->all.modes == cut->all.modes &&
           memcmp(whole->all.ticks, cut->all.ticks, sizeof whole->all.ticks) == 0 &&
           whole->all.busy_ticks == cut->all.busy_ticks && (cut->seen & ~whole->seen) == 0;
}

PARSER_HARNESS(parse_proc_stat, struct proc_stat, same)

static void test_good(void **state)
{
    struct proc_stat st;
    assert_int_equal(parse(good, &st), 0);
    assert_int_equal(st.seen, BIT(STAT_COUNTS) - 1);
    assert_int_equal(st.counts[STAT_INTERRUPTS], 9598926);
    assert_int_equal(st.counts[STAT_SWITCHES], 22054369);
    assert_int_equal(st.counts[STAT_FORKS], 1889347);
    assert_int_equal(st.counts[STAT_RUNNING], 5);
    assert_int_equal(st.counts[STAT_BLOCKED], 1);
    assert_int_equal(st.cpu_count, 2);
    assert_int_equal(st.all.modes, CPU_MODES);
    assert_int_equal(st.all.ticks[CPU_IDLE], 1508054);
    assert_int_equal(st.all.ticks[CPU_IOWAIT], 8999);
    assert_int_equal(st.all.ticks[CPU_STEAL], 6161);
}

/* The kernel counts a guest's time in user and in guest. */
static void test_guests_count_once(void **state)
{
    struct proc_stat st;
    assert_int_equal(parse(good, &st), 0);
    assert_int_equal(st.all.ticks[CPU_USER], 395580 - 80);
    assert_int_equal(st.all.ticks[CPU_NICE], 1959 - 9);
    assert_int_equal(st.all.ticks[CPU_GUEST], 89);
    assert_int_equal(st.all.busy_ticks, 395580 + 1959 + 445594 + 7 + 2655);
    assert_int_equal(parse("cpu  5 1 0 0 0 0 0 0 7 0\n" TAIL, &st), 0);
    assert_int_equal(st.all.ticks[CPU_USER], 0); /* read in between: not below nothing */
}

static void test_cpu_lines(void **state)
{
    struct proc_stat st;
    struct cpu_times t;
    unsigned number;
    assert_int_equal(parse_proc_stat(scan_string(good), &st), 0);
    assert_int_equal(parse_proc_stat_cpu(&st.cpus, &number, &t), 1);
    assert_int_equal(number, 0);
    assert_int_equal(t.ticks[CPU_SYSTEM], 223657);
    assert_int_equal(parse_proc_stat_cpu(&st.cpus, &number, &t), 1);
    assert_int_equal(number, 3); /* 1 and 2 are offline */
    assert_int_equal(t.ticks[CPU_SOFTIRQ], 2297);
    assert_int_equal(parse_proc_stat_cpu(&st.cpus, &number, &t), 0);
}

static void test_bad_cpu_lines(void **state)
{
    static const char *const texts[] = {"cpu  1 2 3 4\n", "cpux 1 2 3 4\n",
                                        "cpu0 1 2 3\n",   "cpu0\n",
                                        "cpu0 1 2 3 x\n", "cpu99999999999 1 2 3 4\n"};
    struct cpu_times t;
    unsigned number;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scan s = scan_string(texts[i]);
        assert_int_equal(parse_proc_stat_cpu(&s, &number, &t), -EBADMSG);
    }
}

static void test_cut_short(void **state)
{
    check_cuts(good, -ENODATA);
}

static void test_old_kernel(void **state)
{
    struct proc_stat st;
    assert_int_equal(parse("cpu  10 2 30 400 5 6 7\ncpu0 10 2 30 400 5 6 7\nintr 5\n", &st), 0);
    assert_int_equal(st.all.modes, CPU_STEAL); /* steal and guests are not there */
    assert_int_equal(st.all.busy_ticks, 55);
    assert_int_equal(st.seen, BIT(STAT_INTERRUPTS));
    assert_int_equal(parse("cpu  10 2 30 400\nctxt 7\n", &st), 0);
    assert_int_equal(st.all.modes, CPU_IOWAIT);
    assert_int_equal(st.cpu_count, 0);
}

static void test_new_kernel(void **state)
{
    struct proc_stat st;
    assert_int_equal(parse("cpu  1 2 3 4 5 6 7 8 0 0 99 98\nfuture 1\n" TAIL "more 7\n", &st), 0);
    assert_int_equal(st.all.modes, CPU_MODES);
    assert_int_equal(st.seen, BIT(STAT_COUNTS) - 1);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        "cpu\n",
        "cpu  1 2 3\n" TAIL,
        "cpu  1 2 3 x\n" TAIL,
        "cpu  1 2 3 4 x\n" TAIL,
        "cpu0 1 2 3 4\n" TAIL,
        TAIL,
        "cpu  1 2 3 4\nctxt x\n",
        "cpu  1 2 3 4\nctxt 5x\n",
        "cpu  1 2 3 4\ncpu0 1 2 3 4\n",
    };
    struct proc_stat st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &st), -EBADMSG);
}

static void test_huge(void **state)
{
    struct proc_stat st;
    assert_int_equal(parse("cpu  18446744073709551615 0 0 18446744073709551615\n" TAIL, &st), 0);
    assert_true(st.all.busy_ticks == UINT64_MAX);
    assert_int_equal(parse("cpu  18446744073709551615 1 0 4\n" TAIL, &st), -EBADMSG);
    assert_int_equal(parse("cpu  18446744073709551616 0 0 4\n" TAIL, &st), -EBADMSG);
    assert_int_equal(parse("cpu  1 2 3 4\nctxt 18446744073709551616\n", &st), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_guests_count_once),
        cmocka_unit_test(test_cpu_lines),  cmocka_unit_test(test_bad_cpu_lines),
        cmocka_unit_test(test_cut_short),  cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_new_kernel), cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),
    };
    return RUN("proc_stat", tests);
}
