/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "base/util.h"
#include "unit.h"

PARSER_HARNESS(parse_statm, struct statm, SAME_BYTES)

static void test_good(void **state)
{
    struct statm st;
    assert_int_equal(parse("765 407 378 5 0 123 0\n", &st), 0);
    assert_int_equal(st.virtual_pages, 765);
    assert_int_equal(st.rss_pages, 407);
    assert_int_equal(st.shared_pages, 378);
}

static void test_zombie(void **state)
{
    struct statm st;
    assert_int_equal(parse("0 0 0 0 0 0 0\n", &st), 0);
    assert_int_equal(st.rss_pages, 0);
}

static void test_new_kernel(void **state)
{
    struct statm st;
    assert_int_equal(parse("765 407 378 5 0 123 0 99 98\n", &st), 0);
    assert_int_equal(st.shared_pages, 378);
}

static void test_cut_short(void **state)
{
    check_cuts("765 407 378 5 0 123 0\n", -ESRCH);
    struct statm st;
    assert_int_equal(parse("765 407 37", &st), -EBADMSG);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {"\n",        "x",          "1 2\n3 4\n",
                                        "1 2 x 4\n", "1 -2 3 4\n", "1.5 2 3 4"};
    struct statm st;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &st), -EBADMSG);
}

static void test_huge(void **state)
{
    struct statm st;
    assert_int_equal(parse("18446744073709551615 1 1 0 0 0 0\n", &st), 0);
    assert_true(st.virtual_pages == UINT64_MAX);
    assert_int_equal(parse("1 1 18446744073709551616 0 0 0 0\n", &st), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),       cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_new_kernel), cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage),    cmocka_unit_test(test_huge),
    };
    return RUN("statm", tests);
}
