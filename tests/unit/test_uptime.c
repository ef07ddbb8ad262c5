/* SPDX-License-Identifier: MIT */
#include "source/machine/load.h"

#include "base/util.h"
#include "unit.h"

PARSER_HARNESS(parse_uptime, uint64_t, SAME_BYTES)

static void test_good(void **state)
{
    uint64_t ns;
    assert_int_equal(parse("11898.49 15080.54\n", &ns), 0);
    assert_true(ns == UINT64_C(11898490000000));
    assert_int_equal(parse("0.05 0.00\n", &ns), 0);
    assert_true(ns == 50000000);
}

static void test_cut_short(void **state)
{
    check_cuts("11898.49 15080.54\n", -ENODATA);
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",        "x",          "1 2\n",        "1. 2.0\n",
        "1.5 2.0\n", "1. 5 2.0\n", "-1.00 1.00\n", "18446744074.00 1.00\n"};
    uint64_t ns;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &ns), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_garbage),
    };
    return RUN("uptime", tests);
}
