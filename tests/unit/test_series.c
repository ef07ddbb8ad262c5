/* SPDX-License-Identifier: MIT */
#include "summary/series.h"

#include "unit.h"

#include <math.h>

#define MS NS_PER_MS

static const struct metric *cpu, *rss, *cores, *bytes;

static int find_metrics(void **state)
{
    cpu = metric_of(process_cpu_seconds);
    rss = metric_of(process_memory_rss_bytes);
    cores = metric_of(process_cpu_cores);
    bytes = metric_of(process_io_read_bytes);
    return 0;
}

static void put(struct series *s, const struct metric *m, uint64_t value, uint64_t at_ns)
{
    series_put(s, m, (union value){.u = value}, at_ns);
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* 100 for a tenth of the time, 10 for the rest. */
static void test_mean_is_weighted_by_time(void **state)
{
    struct series s = {0};
    put(&s, rss, 100, 100 * MS);
    put(&s, rss, 10, 1000 * MS);
    assert_true(close_to(series_mean(&s, rss), 19));
    assert_true(s.max == 100 && s.min == 10);
    assert_int_equal(s.max_at_ns, 100 * MS);
    assert_int_equal(s.count, 2);
}

static void test_mean_against_a_plain_sum(void **state)
{
    uint64_t seed = 1;
    for (int round = 0; round < 50; round++) {
        struct series s = {0};
        uint64_t at = 0;
        double area = 0, most = 0;
        for (int i = 0; i < 200; i++) {
            uint64_t interval = 1 + random_magnitude(&seed, 35);
            uint64_t value = random_magnitude(&seed, 50);
            at += interval;
            area += (double)value * (double)interval;
            most = (double)value > most ? (double)value : most;
            put(&s, rss, value, at);
        }
        assert_true(close_to(series_mean(&s, rss), area / (double)at));
        assert_true(s.max == most);
    }
}

static void test_total_is_mean_times_time(void **state)
{
    uint64_t seed = 2;
    for (int round = 0; round < 50; round++) {
        struct series s = {0};
        uint64_t at = 0, total = 0;
        for (int i = 0; i < 300; i++) {
            at += 1 + random_magnitude(&seed, 32);
            total += random_magnitude(&seed, 40);
            put(&s, bytes, total, at);
        }
        series_end(&s, bytes, at);
        assert_int_equal(s.last.u, total);
        assert_true(close_to(series_mean(&s, bytes) * (double)at / 1e9, (double)total));
        assert_true(s.max >= series_mean(&s, bytes) || s.count == 0);
    }
}

/* All at once within a millisecond: over a tenth of a second it is little. */
static void test_a_burst_is_no_spike(void **state)
{
    struct series s = {0};
    for (unsigned i = 1; i <= 1000; i++)
        put(&s, cpu, i >= 500 ? 10 * MS : 0, i * MS);
    series_end(&s, cpu, 1000 * MS);
    assert_true(close_to(s.max, 0.1)); /* 10 ms in 100 ms, not in 1 ms */
    assert_int_equal(s.count, 10);
    assert_true(s.min == 0);
    assert_true(close_to(series_mean(&s, cpu), 0.01));
}

/* The kernel hands ten milliseconds on at a time; the cores of a steady load stay steady. */
static void test_ticks_do_not_show(void **state)
{
    struct series s = {0};
    uint64_t before = 0;
    for (uint64_t at = MS; at <= 2000 * MS; at += MS) {
        uint64_t now = at / (10 * MS) * (10 * MS);
        series_put(&s, cores, (union value){.d = (double)(now - before) / (double)MS}, at);
        before = now;
    }
    series_end(&s, cores, 2000 * MS);
    assert_true(s.max < 1.11 && s.min > 0.89);
    assert_true(close_to(series_mean(&s, cores), 1));
}

static void test_intervals_longer_than_the_window(void **state)
{
    struct series s = {0};
    put(&s, bytes, 1000, 1000 * MS);
    put(&s, bytes, 6000, 2000 * MS);
    assert_true(s.max == 5000 && s.min == 1000 && s.count == 2);
    assert_int_equal(s.max_at_ns, 2000 * MS);
}

/* All there is counts, however short; of a longer run a short rest counts with the window before.
 */
static void test_the_rest_of_a_window(void **state)
{
    struct series shortest = {0}, little = {0}, half = {0};
    put(&shortest, bytes, 10, 2 * MS);
    series_end(&shortest, bytes, 2 * MS);
    assert_int_equal(shortest.count, 1);
    assert_true(close_to(shortest.max, 5000));

    put(&little, bytes, 100, 100 * MS);
    put(&little, bytes, 200, 110 * MS);
    series_end(&little, bytes, 110 * MS);
    assert_true(close_to(little.max, 200 / 0.11));
    assert_true(close_to(little.min, 1000));

    put(&half, bytes, 100, 100 * MS);
    put(&half, bytes, 200, 150 * MS);
    series_end(&half, bytes, 150 * MS);
    assert_int_equal(half.count, 2);
    assert_true(close_to(half.max, 2000));
}

static void test_no_time(void **state)
{
    struct series s = {0};
    put(&s, rss, 5, 0);
    assert_true(series_mean(&s, rss) == 5);
    struct series c = {0};
    put(&c, bytes, 5, 0);
    series_end(&c, bytes, 0);
    assert_int_equal(c.count, 0);
    assert_true(isfinite(series_mean(&c, bytes)));
    struct series none = {0};
    series_end(&none, bytes, 1000 * MS);
    assert_int_equal(none.count, 0);
}

/* Two values at one time: the second counts for the future, nothing is counted twice. */
static void test_twice_at_once(void **state)
{
    struct series s = {0};
    put(&s, bytes, 10, 100 * MS);
    put(&s, bytes, 30, 100 * MS);
    put(&s, bytes, 30, 200 * MS);
    series_end(&s, bytes, 200 * MS);
    assert_true(close_to(series_mean(&s, bytes) * 0.2, 30));
}

static void test_quantiles(void **state)
{
    struct octave_store store;
    assert_int_equal(octave_store_init(&store, 1), 0);
    struct histogram h = {.store = &store};
    struct series s = {.histogram = &h};
    double value = 7;
    assert_false(series_quantile(&s, rss, 0.5, &value));
    assert_true(value == 7);
    put(&s, rss, 1000, 900 * MS); /* nine tenths of the time */
    put(&s, rss, 500000, 1000 * MS);
    assert_true(series_quantile(&s, rss, 0.5, &value) && fabs(value - 1000) <= 1000 / 64.0);
    assert_true(series_quantile(&s, rss, 0.89, &value) && fabs(value - 1000) <= 1000 / 64.0);
    assert_true(series_quantile(&s, rss, 0.95, &value) && fabs(value - 500000) <= 500000 / 64.0);
    struct series without = {0};
    put(&without, rss, 5, MS);
    assert_false(series_quantile(&without, rss, 0.5, &value));
    octave_store_done(&store);
}

static void test_quantiles_in_the_unit(void **state)
{
    struct octave_store store;
    assert_int_equal(octave_store_init(&store, 1), 0);
    struct histogram h = {.store = &store};
    struct series s = {.histogram = &h};
    double value;
    for (unsigned i = 1; i <= 100; i++)
        series_put(&s, cores, (union value){.d = 1.5}, i * 100 * MS);
    assert_true(series_quantile(&s, cores, 0.5, &value));
    assert_true(fabs(value - 1.5) <= 1.5 / 64);
    octave_store_done(&store);
}

/* At the end the parts of a target add up: one may stand lower than it did a moment before. */
static void test_a_counter_that_falls(void **state)
{
    struct series s = {0};
    put(&s, cpu, 20 * MS, 60 * MS);
    put(&s, cpu, 19 * MS, 80 * MS);
    series_end(&s, cpu, 80 * MS);
    assert_true(close_to(series_mean(&s, cpu), 0.019 / 0.08));
    assert_true(close_to(s.max, 0.019 / 0.08) && s.min == s.max);

    s = (struct series){0};
    put(&s, cpu, 20 * MS, 200 * MS);
    put(&s, cpu, 19 * MS, 400 * MS);
    series_end(&s, cpu, 400 * MS);
    assert_true(close_to(s.max, 0.1) && s.min == 0);
}

static void test_at_least(void **state)
{
    struct series s = {0};
    put(&s, rss, 100, 1000 * MS);
    series_at_least(&s, 50);
    assert_true(s.max == 100);
    series_at_least(&s, 400);
    assert_true(s.max == 400 && s.min == 100);
    assert_true(series_mean(&s, rss) == 100); /* for how long is not known */
    struct series none = {0};
    series_at_least(&none, 7);
    assert_true(none.count == 1 && none.max == 7 && none.min == 7);
}

/* A wait of 0.9 s that comes to light in one sample of 10 ms was not all in it. */
static void test_what_is_read_once_a_second(void **state)
{
    const struct metric *wait = metric_of(process_cpu_wait_seconds);
    struct series s = {0};
    uint64_t seen = 0;
    for (uint64_t at = 10; at <= 10000; at += 10) {
        if (at % 1000 == 500)
            seen = at * 9 / 10;
        put(&s, wait, seen * MS, at * MS);
    }
    series_end(&s, wait, 10000 * MS);
    assert_true(s.max <= 1);
    assert_true(s.max >= 0.89);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_is_weighted_by_time),
        cmocka_unit_test(test_mean_against_a_plain_sum),
        cmocka_unit_test(test_total_is_mean_times_time),
        cmocka_unit_test(test_a_burst_is_no_spike),
        cmocka_unit_test(test_ticks_do_not_show),
        cmocka_unit_test(test_intervals_longer_than_the_window),
        cmocka_unit_test(test_the_rest_of_a_window),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_twice_at_once),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_quantiles_in_the_unit),
        cmocka_unit_test(test_a_counter_that_falls),
        cmocka_unit_test(test_at_least),
        cmocka_unit_test(test_what_is_read_once_a_second),
    };
    return cmocka_run_group_tests_name("series", tests, find_metrics, NULL);
}
