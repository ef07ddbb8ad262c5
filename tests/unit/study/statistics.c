/* SPDX-License-Identifier: MIT */
#include "study/study.h"

#include "unit.h"

static void assert_near(double value, double expected, double share)
{
    double off = value > expected ? value - expected : expected - value;
    double size = expected > 0 ? expected : -expected;
    if (off > share * size + 1e-300)
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* The expected numbers are those of Python's statistics module. */
static const double spread_out[] = {2.5, 3.25, 5.5, 11.25, 11.5, 11.75, 19.75, 22.0, 12.0, 13.5};
static const double one_far[] = {12.1, 11.9, 12.4, 12.0, 12.2, 11.8, 12.3, 14.9};

static struct statistics statistics(const double *values, size_t count)
{
    struct statistics s;
    assert_int_equal(statistics_of(values, count, &s), 0);
    return s;
}

static void test_square_root(void **state)
{
    for (double x = 1e-300; x < 1e300; x *= 37.3) {
        double root = square_root(x);
        assert_near(root * root, x, 1e-15);
    }
    assert_true(square_root(4) == 2 && square_root(1) == 1 && square_root(0) == 0);
    assert_true(square_root(-1) == 0 && square_root(__builtin_nan("")) == 0);
    assert_true(square_root(5e-324) < 1e-150);
    assert_true(square_root(__builtin_inf()) > 1e300);
}

static void test_statistics_of(void **state)
{
    struct statistics s = statistics(spread_out, ARRAY_LEN(spread_out));
    assert_int_equal(s.count, 10);
    assert_near(s.mean, 11.3, 1e-15);
    assert_near(s.sd, 6.388792269800816, 1e-15);
    assert_near(s.median, 11.625, 1e-15);
    assert_true(s.min == 2.5 && s.max == 22.0);
    s = statistics(one_far, ARRAY_LEN(one_far));
    assert_near(s.mean, 12.45, 1e-15);
    assert_near(s.sd, 1.0099504938362078, 1e-14);
    assert_near(s.median, 12.15, 1e-15);
    s = statistics(spread_out, 1);
    assert_true(s.mean == 2.5 && s.sd == 0 && s.median == 2.5 && s.min == 2.5 && s.max == 2.5);
    s = statistics(NULL, 0);
    assert_true(s.count == 0 && s.mean == 0 && s.sd == 0);
    /* Small differences of large values keep their digits. */
    const double large[] = {1e15 + 1, 1e15 + 2, 1e15 + 3};
    s = statistics(large, 3);
    assert_true(s.mean == 1e15 + 2 && s.sd == 1);
}

static void test_outliers(void **state)
{
    bool is[16];
    assert_int_equal(statistics_outliers(one_far, ARRAY_LEN(one_far), is), 1);
    assert_true(is[7] && !is[0] && !is[2]);
    assert_int_equal(statistics_outliers(spread_out, ARRAY_LEN(spread_out), is), 0);
    /* Equal values but one: MAD is 0. */
    const double equal[] = {5, 5, 5, 9, 5, 5, 5, 5};
    assert_int_equal(statistics_outliers(equal, ARRAY_LEN(equal), is), 1);
    assert_true(is[3] && !is[2]);
    /* Too near to the others to be named, and too few values. */
    const double near[] = {5, 5, 5, 5.04, 5, 5, 5, 5};
    assert_int_equal(statistics_outliers(near, ARRAY_LEN(near), is), 0);
    assert_int_equal(statistics_outliers(equal, 4, is), 0);
    assert_false(is[3]);
    assert_int_equal(statistics_outliers(NULL, 0, NULL), 0);
}

/* Normal values have outliers rarely, however few they are; one that is far away is found. */
static void test_outliers_of_noise(void **state)
{
    enum { SAMPLES = 4000 };
    static const size_t counts[] = {5, 6, 7, 8, 10, 15, 30};
    uint64_t seed = 1;
    for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
        unsigned alarms = 0, missed = 0;
        for (unsigned i = 0; i < SAMPLES; i++) {
            double values[32];
            bool is[32];
            for (size_t n = 0; n < counts[k]; n++) {
                double sum = -6; /* of twelve even ones: normal with a deviation of 1 */
                for (unsigned part = 0; part < 12; part++) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;
                    sum += (double)(seed >> 11) / 9007199254740992.0;
                }
                values[n] = 10 + sum;
            }
            alarms += statistics_outliers(values, counts[k], is) > 0;
            values[1] = 60;
            missed += statistics_outliers(values, counts[k], is) < 1 || !is[1];
        }
        assert_in_range(alarms, 0, SAMPLES / 25);
        assert_in_range(missed, 0, SAMPLES / 25);
    }
}

/* Of tables, and by integration for those that are not whole. */
static void test_student_quantile(void **state)
{
    static const struct {
        double freedom, alpha, t;
    } known[] = {
        {1, 0.05, 12.706204736},  {2, 0.05, 4.302652730},     {3, 0.01, 5.840909310},
        {9, 0.05, 2.262157163},   {18, 0.05, 2.100922040},    {18, 0.0033, 3.384902612},
        {11, 0.01, 3.105806516},  {100, 0.05, 1.983971519},   {400, 0.05, 1.965912343},
        {1e6, 0.05, 1.965912343}, {1, 0.0033, 192.913354657}, {2, 0.001, 31.599054576},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        assert_near(student_quantile(known[i].freedom, known[i].alpha), known[i].t, 1e-6);
    assert_near(student_quantile(1.5, 0.05), 6.0167, 0.05);
    assert_near(student_quantile(5.5, 0.05), 2.50186, 0.002);
    assert_near(student_quantile(9.2, 0.001), 4.73769, 0.002);
}

static void test_difference(void **state)
{
    struct statistics a = statistics(spread_out, 10), b = statistics(one_far, 8);
    struct difference d = statistics_difference(&a, &b, 0.05, 0);
    assert_true(d.has_interval && !d.is_shown);
    assert_near(d.change, 1.15, 1e-14);
    assert_near(d.freedom, 9.559059832633803, 1e-13);
    assert_near(d.high - d.change, 2.2423 * 2.051625371910444, 0.002);
    assert_near(d.change - d.low, d.high - d.change, 1e-12);
    /* The other way round. */
    struct difference back = statistics_difference(&b, &a, 0.05, 0);
    assert_near(back.low, -d.high, 1e-14);

    /* One run each: a change, and no interval. */
    struct statistics one = statistics(spread_out, 1), other = statistics(spread_out + 1, 1);
    d = statistics_difference(&one, &other, 0.05, 0);
    assert_true(!d.has_interval && !d.is_shown && d.change == 0.75 && d.low == 0.75);
    /* One run against many: sd * sqrt(1 + 1/10), 9 degrees of freedom. */
    d = statistics_difference(&a, &one, 0.05, 0);
    assert_true(d.has_interval && d.freedom == 9);
    assert_near(d.high - d.change, 2.262157163 * 6.388792269800816 * 1.0488088481701516, 1e-6);

    /* Equal values are not known without error when a least deviation is given. */
    const double fives[] = {5, 5}, sixes[] = {6, 6};
    a = statistics(fives, 2);
    b = statistics(sixes, 2);
    assert_true(statistics_difference(&a, &b, 0.05, 0).is_shown);
    assert_false(statistics_difference(&a, &b, 0.05, 0.5).is_shown);
    assert_true(statistics_difference(&a, &b, 0.05, 0.1).is_shown);
    assert_false(statistics_difference(&a, &a, 0.05, 0).is_shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square_root),      cmocka_unit_test(test_statistics_of),
        cmocka_unit_test(test_outliers),         cmocka_unit_test(test_outliers_of_noise),
        cmocka_unit_test(test_student_quantile), cmocka_unit_test(test_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
