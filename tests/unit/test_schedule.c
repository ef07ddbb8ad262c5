/* SPDX-License-Identifier: MIT */
#include "engine/tracker.h"

#include "base/util.h"
#include "unit.h"

#define MS NS_PER_MS

static const uint64_t start = 1000 * NS_PER_SECOND;

static void test_first_after_a_millisecond(void **state)
{
    static const uint64_t intervals[] = {0, MS, 10 * MS, 3600 * NS_PER_SECOND};
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        struct schedule s;
        schedule_begin(&s, start, intervals[i], 0.01);
        assert_int_equal(s.deadline_ns, start + MS);
        assert_int_equal(s.missed, 0);
    }
}

/* Samples are late, now more, now less; deadlines are multiples from the start all the same. */
static void test_fixed_does_not_drift(void **state)
{
    static const uint64_t intervals[] = {MS, 2 * MS, 10 * MS, 333333333, NS_PER_SECOND};
    uint64_t seed = 1;
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        uint64_t interval = intervals[i];
        struct schedule s;
        schedule_begin(&s, start, interval, 0.01);
        uint64_t first = interval == MS ? 2 : 1; /* at 1 ms the first one is the first multiple */
        for (uint64_t n = 0; n < 5000; n++) {
            uint64_t began = s.deadline_ns + random_below(&seed, MS / 4);
            schedule_advance(&s, began + random_below(&seed, MS / 4), MS / 4);
            assert_int_equal(s.deadline_ns, start + (n + first) * interval);
        }
        assert_int_equal(s.missed, 0);
    }
}

/* What does not fit is counted and left out: taken and missed together are all there were. */
static void test_missed_are_counted(void **state)
{
    uint64_t seed = 2;
    uint64_t interval = 10 * MS;
    struct schedule s;
    schedule_begin(&s, start, interval, 0.01);
    schedule_advance(&s, start + MS, 0);
    uint64_t taken = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t began = s.deadline_ns;
        uint64_t ended = began + random_magnitude(&seed, 28);
        taken++;
        schedule_advance(&s, ended, ended - began);
        assert_true(s.deadline_ns > ended);             /* never bunched */
        assert_true(s.deadline_ns <= ended + interval); /* never skipped for nothing */
        assert_true((s.deadline_ns - start) % interval == 0);
        assert_int_equal((s.deadline_ns - start) / interval, taken + s.missed + 1);
    }
    assert_true(s.missed > 0);
}

static void test_late_first_sample(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 2 * MS, 0.01);
    schedule_advance(&s, start + 5 * MS, 0); /* 2 and 4 ms are past */
    assert_int_equal(s.deadline_ns, start + 6 * MS);
    assert_int_equal(s.missed, 2);
}

static void test_auto_steps(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    assert_int_equal(schedule_auto_step(&s, 0), MS);
    assert_int_equal(schedule_auto_step(&s, MS), MS);
    assert_int_equal(schedule_auto_step(&s, 4 * MS), 4 * MS);
    assert_int_equal(schedule_auto_step(&s, 10 * MS), 10 * MS);
    assert_int_equal(schedule_auto_step(&s, 320 * MS), 10 * MS);
    assert_int_equal(schedule_auto_step(&s, 6400 * MS), 200 * MS);
    assert_int_equal(schedule_auto_step(&s, 32 * NS_PER_SECOND), NS_PER_SECOND);
    assert_int_equal(schedule_auto_step(&s, 86400 * NS_PER_SECOND), NS_PER_SECOND);
    uint64_t before = 0;
    for (uint64_t age = 0; age < 100 * NS_PER_SECOND; age += age / 50 + MS / 7) {
        uint64_t step = schedule_auto_step(&s, age);
        assert_true(step >= before && step >= MS && step <= NS_PER_SECOND);
        before = step;
    }
}

/* A run of two seconds has a curve, a run of two days stays small. */
static void test_auto_counts(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    uint64_t samples = 0, in_two_seconds = 0;
    for (; s.deadline_ns < start + 2 * 86400 * NS_PER_SECOND; samples++) {
        in_two_seconds += s.deadline_ns <= start + 2 * NS_PER_SECOND;
        schedule_advance(&s, s.deadline_ns + 10000, 10000);
    }
    assert_true(in_two_seconds > 60 && in_two_seconds < 200);
    assert_true(samples < 2 * 86400 + 400);
    assert_int_equal(s.missed, 0);
}

/* Where samples are dear they become rare, but never rarer than ten seconds. */
static void test_auto_keeps_to_its_budget(void **state)
{
    uint64_t costs[] = {10000, 100000, MS, 20 * MS, 500 * MS};
    for (size_t i = 0; i < ARRAY_LEN(costs); i++) {
        struct schedule s;
        schedule_begin(&s, start, 0, 0.01);
        uint64_t spent = 0;
        while (s.deadline_ns < start + 3600 * NS_PER_SECOND) {
            uint64_t began = s.deadline_ns;
            spent += costs[i];
            schedule_advance(&s, began + costs[i], costs[i]);
            assert_true(s.deadline_ns - began <= 10 * NS_PER_SECOND + costs[i]);
            assert_true(s.deadline_ns > began + costs[i]);
        }
        if (costs[i] <= 20 * MS)
            assert_true(spent <= 3600 * NS_PER_SECOND / 100 + 20 * costs[i]);
    }
}

/* One slow sample among quick ones does not change the pace for long. */
static void test_cost_is_smoothed(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    for (int i = 0; i < 100; i++)
        schedule_advance(&s, s.deadline_ns + 10000, 10000);
    uint64_t cost = s.cost_ns;
    schedule_advance(&s, s.deadline_ns + 800000, 800000);
    assert_true(s.cost_ns > cost && s.cost_ns < 800000 / 4);
    for (int i = 0; i < 60; i++)
        schedule_advance(&s, s.deadline_ns + 10000, 10000);
    assert_true(s.cost_ns < 11000);
}

/* A clock that was read before the sample began does no harm. */
static void test_no_time_at_all(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, MS, 0.01);
    schedule_advance(&s, start, 0);
    assert_int_equal(s.deadline_ns, start + 2 * MS);
    assert_int_equal(s.cost_ns, 0);
}

/* Members are looked at as often as with auto, however rare samples are. */
static void test_looks_between_samples(void **state)
{
    struct schedule s, automatic;
    schedule_begin(&s, start, 3600 * NS_PER_SECOND, 0.01);
    schedule_begin(&automatic, start, 0, 0.01);
    assert_int_equal(schedule_due(&s), start + MS);
    schedule_advance(&s, start + MS, 0);
    schedule_looked(&s, start + MS, 0);
    for (int i = 0; i < 500; i++) {
        uint64_t at = schedule_due(&s);
        assert_true(at < s.deadline_ns);
        schedule_looked(&s, at, 10 * NS_PER_US);
        assert_int_equal(schedule_due(&s), at + schedule_auto_step(&automatic, at - start));
    }
    assert_int_equal(s.missed, 0);
}

/* They keep to the budget, and never come after the sample that is due. */
static void test_looks_that_cost(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, NS_PER_SECOND, 0.01);
    schedule_advance(&s, start + MS, 0);
    schedule_looked(&s, start + MS, 3 * MS);
    assert_int_equal(schedule_look_spacing(&s), 300 * MS);
    assert_int_equal(schedule_due(&s), start + 2 * MS); /* the first ones of a young run */
    schedule_looked(&s, start + 20 * MS, 3 * MS);
    assert_int_equal(schedule_due(&s), start + 320 * MS);
    schedule_looked(&s, start + 900 * MS, 3 * MS);
    assert_int_equal(schedule_due(&s), start + 1000 * MS);
}

static void test_no_looks_with_auto(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    schedule_advance(&s, start + MS, 0);
    schedule_looked(&s, start + MS, 0);
    assert_int_equal(schedule_due(&s), s.deadline_ns);
}

/* A second more than was to be expected. */
static void test_gaps(void **state)
{
    struct schedule s;
    schedule_begin(&s, 1000, 0, 0.01);
    s.cost_ns = NS_PER_SECOND; /* what the budget asks for is a gap all the same */
    schedule_note_gap(&s, 1000 + NS_PER_SECOND, NS_PER_SECOND);
    assert_int_equal(s.pauses, 0);
    schedule_note_gap(&s, 1000 + 10 * NS_PER_SECOND, 6 * NS_PER_SECOND);
    schedule_note_gap(&s, 1000 + 20 * NS_PER_SECOND, 3 * NS_PER_SECOND);
    assert_int_equal(s.pauses, 2);
    assert_int_equal(s.longest_ns, 6 * NS_PER_SECOND);
    schedule_begin(&s, 1000, 5 * NS_PER_SECOND, 0.01);
    schedule_note_gap(&s, 1000 + 5 * NS_PER_SECOND, 5 * NS_PER_SECOND);
    assert_int_equal(s.pauses, 0);
    schedule_note_gap(&s, 1000 + 12 * NS_PER_SECOND, 7 * NS_PER_SECOND);
    assert_int_equal(s.pauses, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_after_a_millisecond),
        cmocka_unit_test(test_fixed_does_not_drift),
        cmocka_unit_test(test_missed_are_counted),
        cmocka_unit_test(test_late_first_sample),
        cmocka_unit_test(test_auto_steps),
        cmocka_unit_test(test_auto_counts),
        cmocka_unit_test(test_auto_keeps_to_its_budget),
        cmocka_unit_test(test_cost_is_smoothed),
        cmocka_unit_test(test_no_time_at_all),
        cmocka_unit_test(test_looks_between_samples),
        cmocka_unit_test(test_looks_that_cost),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_no_looks_with_auto),
    };
    return RUN("schedule", tests);
}
