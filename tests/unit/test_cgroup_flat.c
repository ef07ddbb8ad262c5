/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "base/util.h"
#include "unit.h"

static const char *const keys[] = {"usage_usec", "nr_periods", "anon"};

static int parse(const char *text, uint64_t values[3])
{
    char *copy = exact_copy(text, strlen(text));
    memset(values, UNTOUCHED, 3 * sizeof *values);
    int r = parse_cgroup_flat(scan_text(copy, strlen(text)), keys, 3, values);
    free(copy);
    return r;
}

static void test_good(void **state)
{
    uint64_t v[3];
    assert_int_equal(
        parse("usage_usec 1836400\nuser_usec 1170128\nnr_periods 7\nnr_throttled 0\n", v), 3);
    assert_int_equal(v[0], 1836400);
    assert_int_equal(v[1], 7);
    assert_true(is_untouched(&v[2], sizeof v[2]));
}

static void test_names_that_only_begin_alike(void **state)
{
    uint64_t v[3];
    assert_int_equal(parse("anon_thp 5\nanon 9\n\nanonymous x\n", v), 4);
    assert_int_equal(v[2], 9);
}

static void test_cut_and_empty(void **state)
{
    uint64_t v[3];
    assert_int_equal(parse("", v), 0);
    assert_int_equal(parse("usage_usec 18", v), 0);
    assert_int_equal(parse("anon 1\nusage_usec 18", v), 4);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "anon \n",
        "anon x\n",
        "anon -1\n",
        "anon 1 2\n",
        "anon 99999999999999999999\n",
        "usage_usec 1\nanon none\n",
    };
    uint64_t v[3];
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(parse(texts[i], v), -EBADMSG);
        assert_true(is_untouched(v, sizeof v));
    }
    assert_int_equal(parse("anon\nwhatever\n", v), 0);
    assert_int_equal(parse("anon 18446744073709551615\n", v), 4);
    assert_true(v[2] == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_names_that_only_begin_alike),
        cmocka_unit_test(test_cut_and_empty),
        cmocka_unit_test(test_garbage),
    };
    return RUN("cgroup_flat", tests);
}
