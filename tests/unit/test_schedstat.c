/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "base/util.h"
#include "unit.h"

PARSER_HARNESS(parse_schedstat, struct schedstat, SAME_BYTES)

static void test_good(void **state)
{
    struct schedstat st;
    assert_int_equal(parse("1084908 52110 17\n", &st), 0);
    assert_int_equal(st.run_ns, 1084908);
    assert_int_equal(st.wait_ns, 52110);
}

/* A kernel that keeps no such books writes zeros. */
static void test_switched_off(void **state)
{
    struct schedstat st;
    assert_int_equal(parse("0 0 0\n", &st), 0);
    assert_int_equal(st.run_ns, 0);
}

static void test_new_kernel(void **state)
{
    struct schedstat st;
    assert_int_equal(parse("1 2 3 4 5\n", &st), 0);
    assert_int_equal(st.wait_ns, 2);
}

static void test_cut_short(void **state)
{
    check_cuts("1084908 52110 17\n", -ESRCH);
    struct schedstat st;
    assert_int_equal(parse("1084908 5211", &st), -EBADMSG);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {"\n", "x", "1\n2 3\n", "1 x 3\n", "-1 2 3\n", "1 -2 3\n"};
    struct schedstat st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &st), -EBADMSG);
}

static void test_huge(void **state)
{
    struct schedstat st;
    assert_int_equal(parse("18446744073709551615 18446744073709551615 1\n", &st), 0);
    assert_true(st.run_ns == UINT64_MAX && st.wait_ns == UINT64_MAX);
    assert_int_equal(parse("18446744073709551616 1 1\n", &st), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_switched_off),
        cmocka_unit_test(test_new_kernel), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage),    cmocka_unit_test(test_huge),
    };
    return RUN("schedstat", tests);
}
