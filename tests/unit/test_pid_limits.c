/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "base/util.h"
#include "unit.h"

/* A text that is cut may know less, never something else. */
static bool same(const struct pid_limits *whole, const struct pid_limits *cut)
{
    for (unsigned i = 0; i < PID_LIMITS; i++)
        if (cut->known >> i & 1 && cut->soft[i] != whole->soft[i])
            return false;
    return true;
}

PARSER_HARNESS(parse_pid_limits, struct pid_limits, same)

static const char good[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              60                   unlimited            seconds   \n"
    "Max file size             unlimited            unlimited            bytes     \n"
    "Max data size             unlimited            unlimited            bytes     \n"
    "Max core file size        0                    unlimited            bytes     \n"
    "Max processes             96343                96343                processes \n"
    "Max open files            20000                20000                files     \n"
    "Max locked memory         8388608              8388608              bytes     \n"
    "Max address space         unlimited            unlimited            bytes     \n"
    "Max nice priority         0                    0                    \n";

static void test_good(void **state)
{
    struct pid_limits l;
    assert_int_equal(parse(good, &l), 0);
    assert_int_equal(l.known, (1 << PID_LIMITS) - 1);
    assert_int_equal(l.soft[PID_LIMIT_CPU_SECONDS], 60);
    assert_true(l.soft[PID_LIMIT_FILE_BYTES] == PID_LIMIT_NONE);
    assert_int_equal(l.soft[PID_LIMIT_CORE_BYTES], 0);
    assert_int_equal(l.soft[PID_LIMIT_PROCESSES], 96343);
    assert_int_equal(l.soft[PID_LIMIT_OPEN_FILES], 20000);
    assert_int_equal(l.soft[PID_LIMIT_LOCKED_BYTES], 8388608);
    assert_true(l.soft[PID_LIMIT_ADDRESS_BYTES] == PID_LIMIT_NONE);
    check_cuts(good, -ESRCH);
}

static void test_some_missing(void **state)
{
    struct pid_limits l;
    assert_int_equal(parse("Max open files 5 6 files\n", &l), 0);
    assert_int_equal(l.known, 1 << PID_LIMIT_OPEN_FILES);
    assert_int_equal(l.soft[PID_LIMIT_OPEN_FILES], 5);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense\n",
        "Max open files\n",
        "Max open files 5\n",
        "Max open files x y files\n",
        "Max open files -1 5 files\n",
        "Max open files 99999999999999999999 5 files\n",
        "Max open files unlimitedx 5 files\n",
    };
    struct pid_limits l;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &l), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_some_missing),
        cmocka_unit_test(test_garbage),
    };
    return RUN("pid_limits", tests);
}
