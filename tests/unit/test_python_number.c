/* SPDX-License-Identifier: MIT */
#include "layout/cells.h"
#include "unit.h"

#include <math.h>

/* What Python 3 prints for them. */
static void test_float(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {
        {0, "0.0"},
        {1, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {63.0882304, "63.0882304"},
        {2399.9201279999997, "2399.9201279999997"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {0.000012345, "1.2345e-05"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {9007199254740993.0, "9007199254740992.0"},
        {1794813586.9341764, "1794813586.9341764"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "null"},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct buf b = {0};
        python_float(&b, all[i].value);
        assert_string_equal(b.data, all[i].text);
        buf_done(&b);
    }
}

static void test_round(void **state)
{
    assert_float_equal(python_round(0.70985, 4), 0.7098, 0); /* 0.70984999999999998 */
    assert_float_equal(python_round(2.675, 2), 2.67, 0);     /* 2.67499999999999982 */
    assert_float_equal(python_round(0.5, 3), 0.5, 0);
    assert_float_equal(python_round(63.08823, 3), 63.088, 0);
    assert_float_equal(python_round(1e300, 3), 1e300, 0);
}

static void test_integer(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {{0, "0"},      {-0.2, "0"},   {41.6, "42"}, {-3, "-3"}, {1e15, "1000000000000000"},
               {NAN, "null"}, {1e30, "null"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct buf b = {0};
        python_integer(&b, all[i].value);
        assert_string_equal(b.data, all[i].text);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float),
        cmocka_unit_test(test_round),
        cmocka_unit_test(test_integer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
