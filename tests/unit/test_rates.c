/* SPDX-License-Identifier: MIT */
#include "account/rates.h"

#include "unit.h"

static double cores_after(struct rate *rates, uint64_t cpu_ns, uint64_t now_ns)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    rates_put(rates, &row, ENTITY_PROCESS, now_ns, 2);
    return row_has(&row, process_cpu_cores) ? row_value(&row, process_cpu_cores).d : -1;
}

static void test_from_zero(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    rates_begin(rates, 100);
    assert_true(cores_after(rates, NS_PER_SECOND, 100 + NS_PER_SECOND / 2) == 2);
    assert_true(cores_after(rates, NS_PER_SECOND, 100 + NS_PER_SECOND) == 0);
}

static void test_first_value_has_no_rate(void **state)
{
    struct rate rates[RATES_PER_ENTITY] = {0};
    assert_true(cores_after(rates, 7 * NS_PER_SECOND, NS_PER_SECOND) == -1);
    assert_true(cores_after(rates, 8 * NS_PER_SECOND, 2 * NS_PER_SECOND) == 1);
    assert_true(cores_after(rates, 9 * NS_PER_SECOND, 2 * NS_PER_SECOND) == -1); /* no time */
}

/* A tick without the counter is bridged: the next rate is over both intervals. */
static void test_unknown_is_bridged(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    rates_begin(rates, 0);
    assert_true(cores_after(rates, NS_PER_SECOND, NS_PER_SECOND) == 1);
    struct row nothing;
    row_init(&nothing, ENTITY_PROCESS);
    rates_put(rates, &nothing, ENTITY_PROCESS, 2 * NS_PER_SECOND, 0);
    assert_false(row_has(&nothing, process_cpu_cores));
    assert_true(cores_after(rates, 2 * NS_PER_SECOND, 3 * NS_PER_SECOND) == 0.5);
}

static void test_two_rates_of_one_row(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_SYSTEM);
    row_put_u64(&row, system_cpu_seconds, 3 * NS_PER_SECOND);
    row_put_u64(&row, system_energy_joules, 30000000); /* held in millionths */
    rates_put(rates, &row, ENTITY_SYSTEM, 2 * NS_PER_SECOND, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 1.5);
    assert_true(row_value(&row, system_power_watts).d == 15);
}

/* Ticks of the kernel that come in one moment were not all used in it. */
static void test_no_more_cores_than_cpus(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_SYSTEM);
    row_put_u64(&row, system_cpu_seconds, 100 * NS_PER_MS);
    row_put_u64(&row, system_cpus_online_count, 2);
    rates_put(rates, &row, ENTITY_SYSTEM, 40 * NS_PER_MS, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 2);
    rates_put(rates, &row, ENTITY_SYSTEM, 60 * NS_PER_MS, 0); /* the rest of it */
    assert_true(row_value(&row, system_cpu_cores).d == 1);
    rates_put(rates, &row, ENTITY_SYSTEM, 80 * NS_PER_MS, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 0);
}

/* A hundredth of a second is what the kernel counts in: a moment without one is not an idle one. */
static void test_moments_of_the_machine_have_no_rate(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_SYSTEM);
    row_put_u64(&row, system_cpu_seconds, 0);
    row_put_u64(&row, system_cpus_online_count, 2);
    rates_put(rates, &row, ENTITY_SYSTEM, 8 * NS_PER_MS, 0);
    assert_false(row_has(&row, system_cpu_cores));
    row_put_u64(&row, system_cpu_seconds, 30 * NS_PER_MS);
    rates_put(rates, &row, ENTITY_SYSTEM, 20 * NS_PER_MS, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 1.5); /* of all that time */
}

static void test_what_was_too_much_comes_later(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    rates_begin(rates, 0);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, NS_PER_SECOND) == 2);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, 2 * NS_PER_SECOND) == 2);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, 3 * NS_PER_SECOND) == 1);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, 4 * NS_PER_SECOND) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_zero),
        cmocka_unit_test(test_no_more_cores_than_cpus),
        cmocka_unit_test(test_moments_of_the_machine_have_no_rate),
        cmocka_unit_test(test_what_was_too_much_comes_later),
        cmocka_unit_test(test_first_value_has_no_rate),
        cmocka_unit_test(test_unknown_is_bridged),
        cmocka_unit_test(test_two_rates_of_one_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
