/* SPDX-License-Identifier: MIT */
#include "account/rates.h"

#include "unit.h"

static double cores(const struct row *row)
{
    assert_true(row_has(row, process_cpu_cores));
    return row_value(row, process_cpu_cores).d;
}

static void test_parts(void **state)
{
    struct rates r = {0};
    struct row parts[PARTS];
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&parts[part], ENTITY_PROCESS);
    row_put_u64(&parts[PART_COMBINED], process_cpu_seconds, 2 * NS_PER_SECOND);
    row_put_u64(&parts[PART_MAIN], process_cpu_seconds, NS_PER_SECOND);
    rates_of_parts(&r, parts, NS_PER_SECOND / 2);
    assert_true(cores(&parts[PART_COMBINED]) == 4);
    assert_true(cores(&parts[PART_MAIN]) == 2);
    assert_false(row_has(&parts[PART_DESCENDANTS], process_cpu_cores)); /* unknown, not idle */
    row_put_u64(&parts[PART_COMBINED], process_cpu_seconds, 2 * NS_PER_SECOND);
    rates_of_parts(&r, parts, NS_PER_SECOND / 2);
    assert_true(cores(&parts[PART_COMBINED]) == 0);
}

static void test_no_time_has_no_rate(void **state)
{
    struct rates r = {0};
    struct row parts[PARTS];
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&parts[part], ENTITY_PROCESS);
    row_put_u64(&parts[PART_COMBINED], process_cpu_seconds, 5);
    rates_of_parts(&r, parts, 0);
    assert_false(row_has(&parts[PART_COMBINED], process_cpu_cores));
}

/* The steps make the total, whatever the intervals. */
static void test_steps_make_the_total(void **state)
{
    struct rates r = {0};
    struct row parts[PARTS];
    uint64_t seed = 1, total = 0;
    double sum = 0;
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&parts[part], ENTITY_PROCESS);
    for (int i = 0; i < 1000; i++) {
        uint64_t interval = random_below(&seed, NS_PER_SECOND) + 1;
        total += random_below(&seed, 4 * interval);
        row_put_u64(&parts[PART_COMBINED], process_cpu_seconds, total);
        rates_of_parts(&r, parts, interval);
        sum += cores(&parts[PART_COMBINED]) * (double)interval;
    }
    assert_true(sum / (double)total > 0.999999 && sum / (double)total < 1.000001);
}

static void test_member(void **state)
{
    struct members m;
    members_init(&m, 0);
    struct member *one = members_add(&m, 1);
    row_put_u64(&one->process.own, process_cpu_seconds, NS_PER_SECOND);
    rates_of_member(one, 10 * NS_PER_SECOND);
    assert_false(row_has(&one->process.own, process_cpu_cores)); /* since when? */
    row_put_u64(&one->process.own, process_cpu_seconds, 2 * NS_PER_SECOND);
    rates_of_member(one, 14 * NS_PER_SECOND);
    assert_true(cores(&one->process.own) == 0.25);
    rates_of_member(one, 14 * NS_PER_SECOND); /* twice at once changes nothing */
    assert_true(cores(&one->process.own) == 0.25);
    members_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_no_time_has_no_rate),
        cmocka_unit_test(test_steps_make_the_total),
        cmocka_unit_test(test_member),
    };
    return RUN("rates", tests);
}
