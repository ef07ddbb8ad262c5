/* SPDX-License-Identifier: MIT
 * What the block at the beginning of a summary is made of: curves and the largest processes. */
#include "base/clock.h"
#include "summary/summary.h"

#include <math.h>
#include <stdio.h>

#include "unit.h"

/* ==== Curve =================================================================================== */

static void test_curve_empty(void **state)
{
    struct curve c = {0};
    double columns[8];
    assert_int_equal(curve_columns(&c, 8, true, columns), 0);
    curve_add(&c, 1, 5, 5); /* no time */
    assert_int_equal(curve_columns(&c, 8, true, columns), 0);
    curve_add(&c, NAN, 0, NS_PER_SECOND); /* not known */
    assert_int_equal(curve_columns(&c, 8, true, columns), 8);
    assert_true(isnan(columns[0]) && isnan(columns[7]));
    assert_int_equal(curve_columns(&c, 8, false, columns), 8);
    assert_true(isnan(columns[0]) && isnan(columns[7]));
}

static void test_curve_mean_and_peak(void **state)
{
    struct curve c = {0};
    double columns[4];
    for (uint64_t i = 0; i < 40; i++) /* a millisecond each: 1 in the first half, then 3 */
        curve_add(&c, i < 20 ? 1 : 3, i * NS_PER_MS, (i + 1) * NS_PER_MS);
    curve_add(&c, 9, 40 * NS_PER_MS, 41 * NS_PER_MS);
    assert_int_equal(curve_columns(&c, 2, true, columns), 2);
    assert_true(columns[0] == 1 && columns[1] == 9);
    assert_int_equal(curve_columns(&c, 2, false, columns), 2);
    assert_true(fabs(columns[0] - 1) < 1e-9 && columns[1] > 3 && columns[1] < 3.4);
}

/* However long the run becomes: the peak of one sample stays, and the sum of all is conserved. */
static void test_curve_grows(void **state)
{
    struct curve c = {0};
    double sum = 0, seconds = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        double value = i == 777 ? 50 : (double)(i % 7);
        curve_add(&c, value, i * 10 * NS_PER_MS, (i + 1) * 10 * NS_PER_MS);
        sum += value * 0.01;
    }
    double kept = 0, most = 0;
    for (unsigned i = 0; i < CURVE_POINTS; i++) {
        kept += c.points[i].sum;
        seconds += (double)c.points[i].covered_ns / 1e9;
        most = fmax(most, c.points[i].max);
    }
    assert_true(fabs(kept - sum) < 1e-6 * sum);
    assert_true(fabs(seconds - 1000) < 1e-6);
    assert_true(most == 50);
    double columns[16];
    assert_int_equal(curve_columns(&c, 16, true, columns), 16);
    assert_true(columns[0] == 50 && columns[1] == 6 && columns[15] == 6);
}

static void test_curve_with_gaps(void **state)
{
    struct curve c = {0};
    double columns[4];
    curve_add(&c, -2, 0, 16 * NS_PER_MS); /* below zero: the largest is not 0 */
    curve_add(&c, 4, 48 * NS_PER_MS, 64 * NS_PER_MS);
    assert_int_equal(curve_columns(&c, 4, true, columns), 4);
    assert_true(columns[0] == -2 && isnan(columns[1]) && isnan(columns[2]) && columns[3] == 4);
    curve_add(&c, 5, 64 * NS_PER_MS, 65 * NS_PER_MS); /* merged once */
    assert_true(c.points[0].max == -2 && c.points[31].max == 4 && c.points[32].max == 5);
    assert_int_equal(c.points[10].covered_ns, 0);
}

/* ==== Largest processes ======================================================================= */

static struct largest_process process_of(pid_t pid, const char *name, uint64_t cpu, uint64_t peak)
{
    struct largest_process p = {.pid = pid, .cpu_ns = cpu, .peak_bytes = peak};
    p.has_cpu = p.has_peak = p.is_complete = true;
    snprintf(p.name, sizeof p.name, "%s", name);
    return p;
}

static void test_largest_are_kept(void **state)
{
    static struct largest l;
    memset(&l, 0, sizeof l);
    for (unsigned i = 0; i < 1000; i++) { /* 7 and 1000 have no common divisor: each value once */
        struct largest_process p = process_of((pid_t)i + 1, i % 2 ? "cc1" : "as", i * 7 % 1000,
                                              i * 13 % 1000);
        largest_add(&l, &p);
    }
    assert_int_equal(l.count, 1000);
    assert_int_equal(l.by_memory_count, LARGEST_KEPT);
    for (unsigned i = 0; i < LARGEST_KEPT; i++) {
        assert_int_equal(l.by_memory[i].peak_bytes, 999 - i);
        assert_int_equal(l.by_cpu[i].cpu_ns, 999 - i);
    }
    assert_int_equal(l.program_count, 2);
    assert_int_equal(l.programs[0].count, 500);
    assert_int_equal(l.programs[0].cpu_ns + l.programs[1].cpu_ns, 999 * 1000 / 2);
    assert_true(l.programs[0].is_complete);
}

static void test_largest_unknown(void **state)
{
    static struct largest l;
    memset(&l, 0, sizeof l);
    struct largest_process p = process_of(5, "x", 3, 4);
    p.has_peak = false;
    p.peak_bytes = 0;
    largest_add(&l, &p);
    assert_int_equal(l.by_memory_count, 0);
    assert_int_equal(l.by_cpu_count, 1);
    assert_true(l.programs[0].is_complete); /* its CPU time is; its peak always is a lower bound */
    p.is_complete = false;
    largest_add(&l, &p);
    assert_false(l.programs[0].is_complete);
}

static void test_largest_many_programs(void **state)
{
    static struct largest l;
    memset(&l, 0, sizeof l);
    const struct largest_program *sorted[LARGEST_PROGRAMS];
    for (unsigned i = 0; i < LARGEST_PROGRAMS + 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        struct largest_process p = process_of((pid_t)i + 1, name, i, 1);
        largest_add(&l, &p);
    }
    assert_int_equal(l.program_count, LARGEST_PROGRAMS);
    assert_int_equal(l.unlisted, 10);
    assert_int_equal(largest_programs_by_cpu(&l, sorted), LARGEST_PROGRAMS);
    assert_string_equal(sorted[0]->name, "p255");
    assert_string_equal(sorted[255]->name, "p0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curve_empty),           cmocka_unit_test(test_curve_mean_and_peak),
        cmocka_unit_test(test_curve_grows),           cmocka_unit_test(test_curve_with_gaps),
        cmocka_unit_test(test_largest_are_kept),      cmocka_unit_test(test_largest_unknown),
        cmocka_unit_test(test_largest_many_programs),
    };
    return RUN("glance parts", tests);
}
