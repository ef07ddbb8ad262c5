/* SPDX-License-Identifier: MIT */
#include "summary/phases.h"

#include "unit.h"

#include <stdio.h>

static struct phase_figures used(uint64_t from_ns, uint64_t to_ns, uint64_t cpu_ns, uint64_t rss)
{
    struct phase_figures f;
    struct row row;
    phase_figures_init(&f);
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, 0);
    row_put_u64(&row, process_memory_rss_bytes, rss);
    phase_figures_look(&f, &row, from_ns, from_ns);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    phase_figures_look(&f, &row, to_ns, to_ns);
    return f;
}

static void test_phases_of_a_name(void **state)
{
    struct mark_totals t = {0};
    uint64_t s = NS_PER_SECOND;
    struct phase_figures one = used(0, 2 * s, s, 100), two = used(5 * s, 6 * s, s / 2, 300), none;
    phase_figures_init(&none);
    assert_true(mark_totals_phase(&t, &(struct phase_over){"a", 1, 0, 2 * s, .figures = &one}));
    assert_true(mark_totals_phase(&t, &(struct phase_over){"a", 1, 5 * s, 6 * s, .figures = &two}));
    assert_int_equal(t.phase_count, 1);
    const struct phase_total *p = t.phases;
    assert_true(p->count == 2 && p->total_ns == 3 * s && p->min_ns == s && p->max_ns == 2 * s);
    assert_false(p->of_several);
    struct phase_figure cpu = phase_total_figure(p, process_cpu_seconds);
    assert_true(cpu.total == 1.5 && cpu.quality == QUALITY_SAMPLED);
    struct phase_figure rss = phase_total_figure(p, process_memory_rss_bytes);
    assert_true(rss.max == 300 && rss.mean == 166.666666667);
    struct phase_figure cores = phase_total_figure(p, process_cpu_cores);
    assert_true(cores.mean == 0.5 && cores.max < 0);
    /* One that nobody looked at: the sum is at least what is known. */
    assert_true(mark_totals_phase(
        &t, &(struct phase_over){"a", 2, 7 * s, 8 * s, .not_ended = true, .figures = &none}));
    cpu = phase_total_figure(p, process_cpu_seconds);
    assert_true(cpu.total == 1.5 && cpu.quality == QUALITY_LOWER_BOUND);
    assert_true(p->count == 3 && p->instance == 2 && p->not_ended == 1 && p->of_several);
    assert_int_equal(phase_total_figure(p, process_storage_read_bytes).quality, QUALITY_UNKNOWN);
    mark_totals_done(&t);
    mark_totals_done(&t);
}

/* The figures of one target, told for several at the same time. */
static void test_the_whole_target_counts_once(void **state)
{
    struct mark_totals t = {0};
    uint64_t s = NS_PER_SECOND;
    struct phase_figures one = used(0, 2 * s, s, 100), two = used(s, 3 * s, s, 300);
    struct phase_figures later = used(3 * s, 4 * s, s, 200);
    struct phase_over over[] = {{"a", 1, 0, 2 * s, .widened = true, .figures = &one},
                                {"a", 2, s, 3 * s, .widened = true, .figures = &two},
                                {"a", 3, 3 * s, 4 * s, .widened = true, .figures = &later}};
    for (size_t i = 0; i < ARRAY_LEN(over); i++)
        assert_true(mark_totals_phase(&t, &over[i]));
    struct phase_figure cpu = phase_total_figure(t.phases, process_cpu_seconds);
    assert_true(cpu.total == 2 && cpu.quality == QUALITY_LOWER_BOUND);
    struct phase_figure rss = phase_total_figure(t.phases, process_memory_rss_bytes);
    assert_true(rss.max == 300 && rss.quality == QUALITY_SAMPLED);
    assert_true(t.phases->count == 3 && t.phases->instance == 2);
    mark_totals_done(&t);
}

static void test_gauges(void **state)
{
    struct mark_totals t = {0};
    mark_totals_gauge(&t, "loss", -1, 10);
    mark_totals_gauge(&t, "loss", -3, 20);
    mark_totals_gauge(&t, "loss", -2, 30);
    assert_int_equal(t.gauge_count, 1);
    const struct gauge_total *g = t.gauges;
    assert_true(g->count == 3 && g->last == -2 && g->min == -3 && g->max == -1 && g->sum == -6);
    assert_int_equal(g->max_at_ns, 10);
    mark_totals_done(&t);
}

static void test_bounded(void **state)
{
    struct mark_totals t = {0};
    struct phase_figures none;
    phase_figures_init(&none);
    assert_false(mark_totals_any(&t));
    for (int i = 0; i <= MARK_NAMES_AT_MOST; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        bool fits = i < MARK_NAMES_AT_MOST;
        struct phase_over over = {name, 1, 0, 1, .figures = &none};
        assert_int_equal(mark_totals_phase(&t, &over), fits);
        assert_int_equal(mark_totals_gauge(&t, name, 1, 0), fits);
    }
    assert_int_equal(t.left_out, 2);
    assert_true(mark_totals_gauge(&t, "n7", 1, 0));
    t.lost = 1;
    assert_true(mark_totals_any(&t));
    mark_totals_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_of_a_name),
        cmocka_unit_test(test_the_whole_target_counts_once),
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_bounded),
    };
    return RUN("mark_totals", tests);
}
