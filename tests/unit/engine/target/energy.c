/* SPDX-License-Identifier: MIT */
#include "engine/target/energy.h"
#include "unit.h"

#include <math.h>

#define SECOND NS_PER_SECOND

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-6);
}

static void assert_divided(const struct energy_package *packages, size_t count, double cpu_seconds,
                           double low_joules, double high_joules)
{
    double low, high;
    energy_divide(packages, count, SECOND, cpu_seconds * 1e9, &low, &high);
    assert_near(low / 1e6, low_joules);
    assert_near(high / 1e6, high_joules);
}

/* One package of 4 CPUs, 40 J in a second in which 2 CPUs were busy. */
static void test_energy_of_one_package(void **state)
{
    const struct energy_package p = {.cpus = 4, .used_uj = 40e6, .used_busy_ns = 2e9};
    assert_divided(&p, 1, 1, 10, 20);
    assert_divided(&p, 1, 2, 20, 40);
    assert_divided(&p, 1, 0, 0, 0);
    /* Ticks lag behind: no more than all. */
    assert_divided(&p, 1, 2.02, 20.2, 40);
    assert_divided(&p, 1, 100, 40, 40);
}

/* Nothing was busy by the ticks of /proc/stat, yet the target ran: all of it may be its own. */
static void test_energy_without_a_tick(void **state)
{
    const struct energy_package p = {.cpus = 4, .used_uj = 40e6, .used_busy_ns = 0};
    assert_divided(&p, 1, 0.004, 0.04, 40);
}

/* The target is where something was busy, whatever the other package used. */
static void test_energy_of_an_idle_package(void **state)
{
    const struct energy_package p[] = {{.cpus = 2, .used_uj = 60e6, .used_busy_ns = 1e9},
                                       {.cpus = 2, .used_uj = 10e6, .used_busy_ns = 0}};
    assert_divided(p, 2, 1, 30, 60);
}

/* It may have been on either: the ends are those of the two cases. */
static void test_energy_of_two_busy_packages(void **state)
{
    const struct energy_package p[] = {{.cpus = 2, .used_uj = 60e6, .used_busy_ns = 1e9},
                                       {.cpus = 2, .used_uj = 40e6, .used_busy_ns = 2e9}};
    assert_divided(p, 2, 1, 20, 60);
    assert_divided(p, 2, 2, 40, 80);
    assert_divided(p, 2, 3, 70, 100);
}

static void test_energy_prices(void **state)
{
    struct energy_prices p;
    struct toll_error e;
    struct toll_options o = {.carbon = "300", .price = "0.30EUR", .price_hour = "2", .pue = 1.5};
    assert_int_equal(energy_prices_parse(&p, &o, &e), 0);
    struct job_energy j = {.joules = {true, true, 3.6e6, 7.2e6}, .grams = {true, true, 300, 600}};
    job_energy_price(&j, &p, 1800 * SECOND);
    assert_near(j.kwh.low, 1.5);
    assert_near(j.kwh.high, 3);
    assert_near(j.grams.low, 450);
    assert_near(j.cost.low, 0.45 + 1);
    assert_near(j.cost.high, 0.9 + 1);
    assert_string_equal(j.currency, "EUR");

    /* Energy is unknown: the hours are certain, and a lower bound beside a price of energy. */
    j = (struct job_energy){0};
    job_energy_price(&j, &p, 1800 * SECOND);
    assert_true(j.cost.has_low && !j.cost.has_high);
    assert_near(j.cost.low, 1);
    assert_false(j.grams.has_low || j.kwh.has_low);
    energy_prices_done(&p);
    o = (struct toll_options){.price_hour = "2"};
    assert_int_equal(energy_prices_parse(&p, &o, &e), 0);
    j = (struct job_energy){0};
    job_energy_price(&j, &p, 1800 * SECOND);
    assert_true(j.cost.has_low && j.cost.has_high && j.cost.high == 1);
    energy_prices_done(&p);
}

static void test_energy_prices_wrong(void **state)
{
    static const struct toll_options wrong[] = {
        {.price = "cheap"}, {.price = "-1"},        {.price = "1", .price_hour = "1 2"},
        {.pue = 0.5},       {.carbon = "/no/such"}, {.price = "1EUR", .price_hour = "1USD"},
        {.price = ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct energy_prices p;
        struct toll_error e = {0};
        assert_int_equal(energy_prices_parse(&p, &wrong[i], &e), -EINVAL);
        assert_true(*e.message);
    }
}

static void test_energy_carbon(void **state)
{
    static const char text[] = "# grams for a kWh\n\n2026-11-19T00:00Z 300\n2026-11-19T06:30:00Z, "
                               "150.5\r\n2026-11-20;80\n";
    struct energy_prices p = {0};
    unsigned line;
    assert_int_equal(parse_carbon(scan_string(text), &p.carbon, &p.carbon_count, &line), 0);
    assert_int_equal(p.carbon_count, 3);
    uint64_t from_ns = p.carbon[0].from_real_ns;
    assert_true(carbon_at(&p, from_ns - 1) != carbon_at(&p, from_ns - 1)); /* unknown */
    assert_near(carbon_at(&p, from_ns), 300);
    assert_near(carbon_at(&p, from_ns + 23400 * SECOND), 150.5);
    assert_near(carbon_at(&p, from_ns + 86400 * SECOND), 80);
    energy_prices_done(&p);

    static const char *const wrong[] = {
        "",
        "# nothing\n",
        "2026-11-19T00:00Z\n",
        "2026-11-19T00:00 300\n",
        "2026-11-19T00:00Z 300 g\n",
        "2026-11-19T00:00Z 300\n2026-11-18T00:00Z 300\n",
        "300\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(parse_carbon(scan_string(wrong[i]), &p.carbon, &p.carbon_count, &line),
                         -EINVAL);
    assert_int_equal(line, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy_of_one_package),
        cmocka_unit_test(test_energy_without_a_tick),
        cmocka_unit_test(test_energy_of_an_idle_package),
        cmocka_unit_test(test_energy_of_two_busy_packages),
        cmocka_unit_test(test_energy_prices),
        cmocka_unit_test(test_energy_prices_wrong),
        cmocka_unit_test(test_energy_carbon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
