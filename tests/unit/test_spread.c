/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/analysis.h"

#include "unit.h"

#include <errno.h>
#include <math.h>

static void test_by_hand(void **state)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct spread s = {0};
    assert_true(isnan(spread_get(&s, STATISTIC_MIN)) && isnan(spread_get(&s, STATISTIC_STD)));
    spread_add(&s, NAN);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        spread_add(&s, values[i]);
    assert_true(s.count == 8);
    assert_true(spread_get(&s, STATISTIC_MIN) == 2);
    assert_true(spread_get(&s, STATISTIC_MAX) == 9);
    assert_true(spread_get(&s, STATISTIC_MEAN) == 5);
    assert_true(spread_get(&s, STATISTIC_STD) == 2);
}

static void test_large_and_alike(void **state)
{
    struct spread s = {0}, same = {0};
    for (int i = 0; i < 1000; i++) {
        spread_add(&s, 1e15 + (i % 2));
        spread_add(&same, 0.216);
    }
    assert_true(fabs(spread_get(&s, STATISTIC_STD) - 0.5) < 1e-9);
    assert_true(spread_get(&same, STATISTIC_STD) == 0);
    assert_true(spread_get(&same, STATISTIC_MEAN) == 0.216);
}

static void test_negative(void **state)
{
    struct spread s = {0};
    spread_add(&s, -3);
    spread_add(&s, -1);
    assert_true(spread_get(&s, STATISTIC_MIN) == -3 && spread_get(&s, STATISTIC_MAX) == -1);
}

static void test_names(void **state)
{
    for (int i = 0; i < STATISTICS; i++)
        assert_int_equal(statistic_by_name(statistic_names[i]), i);
    assert_int_equal(statistic_by_name("median"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_large_and_alike),
        cmocka_unit_test(test_negative),
        cmocka_unit_test(test_names),
    };
    return RUN("spread", tests);
}
