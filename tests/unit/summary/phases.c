/* SPDX-License-Identifier: MIT */
#include "summary/phases.h"
#include "unit.h"

#include <stdio.h>

/* ---- phases --------------------------------------------------------------------------------- */

static void begin(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, int expected)
{
    struct phase *one = NULL;
    assert_int_equal(phases_begin(p, name, pid, at_ns, &one), expected);
    assert_true((one != NULL) == (expected == 0));
}

/* In these tests, processes below 100 have left. */
static bool has_left(const void *context, const struct phase *p)
{
    return p->pid < 100;
}

static const struct phase_owner owner = {has_left, NULL};

/* Ends a phase that began then. */
static void end(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, uint64_t began_ns)
{
    struct phase *one = NULL;
    assert_int_equal(phases_end(p, name, pid, at_ns, &owner, &one), 0);
    assert_string_equal(one->name, name);
    assert_int_equal(one->begin_ns, began_ns);
    assert_int_equal(one->end_ns, at_ns);
    phase_free(one);
}

/* Who says the end once too often does not end what goes on elsewhere. */
static void test_phases_one_end_too_many(void **state)
{
    struct phases p = {0};
    struct phase *one;
    begin(&p, "a", 100, 10, 0);
    begin(&p, "a", 101, 20, 0);
    end(&p, "a", 101, 30, 20);
    assert_int_equal(phases_end(&p, "a", 101, 40, &owner, &one), -ENOENT);
    assert_int_equal(phases_end(&p, "a", 0, 40, &owner, &one), -ENOENT);
    end(&p, "a", 100, 50, 10);
    phases_done(&p);
}

/* Nobody ended it, and its process died in it: what was seen of that one, at least. */
static void test_phases_died_inside(void **state)
{
    struct phases p = {0};
    struct row row;
    begin(&p, "a", 1, 10, 0);
    row_init(&row, ENTITY_PROCESS);
    for (uint64_t ns = 10; ns <= 50; ns += 20) {
        row_put_u64(&row, process_cpu_seconds, ns * NS_PER_SECOND);
        phase_figures_look(&p.open[0]->of_process, &row, ns, ns);
    }
    p.open[0]->scope = SCOPE_PROCESS;
    p.open[0]->process_left = true;
    struct phase *one = phases_cut(&p, 1000);
    assert_true(one->not_ended && one->end_ns == 50);
    assert_false(phase_is_of_target(one) || phase_is_widened(one));
    struct phase_figure cpu = phase_figures_of(phase_figures(one), process_cpu_seconds,
                                               one->begin_ns, one->end_ns);
    assert_true(cpu.total == 40 && cpu.quality == QUALITY_LOWER_BOUND);
    phase_free(one);
    phases_done(&p);
}

static void test_phases_nested_and_overlapping(void **state)
{
    struct phases p = {0};
    struct phase *one;
    begin(&p, "a", 1, 10, 0);
    begin(&p, "b", 1, 20, 0);
    begin(&p, "a", 1, 30, 1); /* in itself: one level deeper */
    begin(&p, "a", 2, 40, 0); /* of another process */
    assert_int_equal(phases_end(&p, "a", 1, 50, &owner, &one), 1);
    end(&p, "a", 1, 60, 10); /* before b, which began later */
    end(&p, "b", 1, 70, 20);
    end(&p, "a", 2, 80, 40);
    assert_int_equal(p.count, 0);
    assert_int_equal(phases_end(&p, "a", 1, 90, &owner, &one), -ENOENT);
    phases_done(&p);
    phases_done(&p);
}

static void test_phases_ended_by_another(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 1, 10, 0);
    begin(&p, "a", 2, 20, 0);
    end(&p, "a", 1, 30, 10); /* its own before the newest */
    begin(&p, "a", 3, 40, 0);
    end(&p, "a", 9, 50, 40);
    end(&p, "a", 9, 60, 20);
    phases_done(&p);
}

/* The pid is another process's by now. */
/* A shell has others say what it does; whoever speaks for itself is no shell. */
static void test_phases_told_for(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 101, 10, 0);
    assert_false(phases_was_begun_for(&p, "a", 101));
    p.open[0]->is_reported_for = true;
    assert_true(phases_was_begun_for(&p, "a", 101));
    assert_false(phases_was_begun_for(&p, "a", 102) || phases_was_begun_for(&p, "b", 101));
    p.open[0]->process_left = true;
    assert_true(phases_was_begun_for(&p, "a", 101));
    phases_done(&p);
}

static void test_phases_reused_pid(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 1, 10, 0);
    p.open[0]->process_left = true;
    begin(&p, "a", 1, 20, 0);
    end(&p, "a", 1, 30, 20);
    end(&p, "a", 1, 40, 10);
    phases_done(&p);
}

static void test_phases_whose_figures(void **state)
{
    struct phase p = {.pid = 1};
    assert_true(phase_is_of_target(&p)); /* nobody looked */
    p.scope = SCOPE_PROCESS;
    assert_false(phase_is_of_target(&p));
    assert_ptr_equal(phase_figures(&p), &p.of_process);
    p.process_left = true;
    assert_ptr_equal(phase_figures(&p), &p.of_target);
    assert_true(phase_is_widened(&p));
    p.by_main = true;
    assert_false(phase_is_widened(&p));
    /* One that said the end itself had all it used by then. */
    struct phases all = {0};
    struct phase *one;
    begin(&all, "a", 1, 10, 0);
    all.open[0]->scope = SCOPE_PROCESS;
    all.open[0]->process_left = true;
    assert_int_equal(phases_end(&all, "a", 1, 5, &owner, &one), 0);
    assert_false(phase_is_of_target(one));
    assert_int_equal(one->end_ns, 10); /* never before its beginning */
    phase_free(one);
    phases_done(&all);
}

static void test_phases_cut(void **state)
{
    struct phases p = {0};
    begin(&p, "a", 1, 10, 0);
    begin(&p, "b", 1, 20, 0);
    struct phase *one = phases_cut(&p, 100);
    assert_true(one->not_ended && one->end_ns == 100);
    assert_string_equal(one->name, "a");
    phase_free(one);
    phase_free(phases_cut(&p, 100));
    assert_null(phases_cut(&p, 100));
    phase_free(NULL);
    phases_done(&p);
}

static void test_phases_bounded(void **state)
{
    struct phases p = {0};
    for (int i = 0; i < PHASES_AT_MOST; i++)
        begin(&p, "a", 1 + i, 10, 0);
    begin(&p, "a", 1 + PHASES_AT_MOST, 10, -ENOSPC);
    begin(&p, "a", 5, 10, 1);
    phases_done(&p);
}

/* ---- phase figures -------------------------------------------------------------------------- */

#define S NS_PER_SECOND

static void look(struct phase_figures *f, uint64_t at_ns, uint64_t cpu_ns, uint64_t rss)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    row_put_u64(&row, process_memory_rss_bytes, rss);
    row_put_u64(&row, process_memory_peak_bytes, 1 << 30);
    phase_figures_look(f, &row, at_ns, at_ns);
}

static void test_phase_figures_growth_and_peak(void **state)
{
    struct phase_figures f;
    phase_figures_init(&f);
    look(&f, 10 * S, 5 * S, 100);
    look(&f, 11 * S, 5 * S, 300);
    look(&f, 14 * S, 7 * S, 200);
    struct phase_figure cpu = phase_figures_of(&f, process_cpu_seconds, 10 * S, 14 * S);
    assert_int_equal(cpu.quality, QUALITY_SAMPLED);
    assert_true(cpu.total == 2);
    struct phase_figure cores = phase_figures_of(&f, process_cpu_cores, 10 * S, 14 * S);
    assert_true(cores.mean == 0.5 && cores.max < 0 && cores.quality == QUALITY_SAMPLED);
    struct phase_figure rss = phase_figures_of(&f, process_memory_rss_bytes, 10 * S, 14 * S);
    assert_true(rss.max == 300 && rss.mean == (300.0 + 3 * 200) / 4);
    struct phase_figure none = phase_figures_of(&f, process_storage_read_bytes, 10 * S, 14 * S);
    assert_int_equal(none.quality, QUALITY_UNKNOWN);
    assert_false(phase_figures_has(metric_of(process_memory_peak_bytes)));
    assert_false(phase_figures_has(metric_of(process_wall_seconds)));
    assert_true(phase_figures_has(metric_of(process_cpu_cores)));
}

static enum quality cpu_quality(uint64_t first_ns, uint64_t last_ns, uint64_t begin_ns,
                                uint64_t end_ns)
{
    struct phase_figures f;
    phase_figures_init(&f);
    look(&f, first_ns, 0, 1);
    look(&f, last_ns, 1, 1);
    return phase_figures_of(&f, process_cpu_seconds, begin_ns, end_ns).quality;
}

static void test_phase_figures_how_much_was_seen(void **state)
{
    assert_int_equal(cpu_quality(100, 200, 100, 200), QUALITY_SAMPLED);
    assert_int_equal(cpu_quality(104, 204, 100, 200), QUALITY_SAMPLED);
    assert_int_equal(cpu_quality(120, 200, 100, 200), QUALITY_LOWER_BOUND);
    assert_int_equal(cpu_quality(100, 150, 100, 200), QUALITY_LOWER_BOUND);
    assert_int_equal(cpu_quality(120, 224, 100, 200), QUALITY_SAMPLED); /* may have more, or less */
    assert_int_equal(cpu_quality(100, 240, 100, 200), QUALITY_UNKNOWN); /* what came after it */
    assert_int_equal(cpu_quality(50, 200, 100, 200), QUALITY_UNKNOWN);  /* … or before */
    struct phase_figures f;
    phase_figures_init(&f);
    assert_int_equal(phase_figures_of(&f, process_cpu_seconds, 1, 2).quality, QUALITY_UNKNOWN);
    look(&f, 100, 5, 7); /* one look has no growth, but a size */
    assert_int_equal(phase_figures_of(&f, process_cpu_seconds, 95, 105).quality, QUALITY_UNKNOWN);
    assert_true(phase_figures_of(&f, process_memory_rss_bytes, 95, 105).max == 7);
    assert_int_equal(phase_figures_of(&f, process_memory_rss_bytes, 70, 80).quality,
                     QUALITY_UNKNOWN);
}

static void look_at_part(struct phase_figures *f, uint64_t at_ns, uint64_t written, uint64_t pss,
                         bool is_part)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_io_written_bytes, written);
    row_put_u64(&row, process_memory_pss_bytes, pss);
    if (is_part)
        row_bound(&row, ~UINT64_C(0));
    phase_figures_look(f, &row, at_ns, at_ns);
}

/* A process could not be read at some of the looks. */
static void test_phase_figures_parts(void **state)
{
    static const struct {
        bool is_part[3];
        enum quality written, pss;
        double total;
    } cases[] = {
        {{false, false, false}, QUALITY_SAMPLED, QUALITY_SAMPLED, 90},
        {{false, true, false}, QUALITY_SAMPLED, QUALITY_LOWER_BOUND, 90}, /* it was reaped since */
        {{false, false, true}, QUALITY_LOWER_BOUND, QUALITY_LOWER_BOUND, 90},
        {{true, false, false}, QUALITY_LOWER_BOUND, QUALITY_LOWER_BOUND, 80}, /* from then on */
        {{true, true, true}, QUALITY_UNKNOWN, QUALITY_LOWER_BOUND, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct phase_figures f;
        phase_figures_init(&f);
        look_at_part(&f, 10 * S, 10, 100, cases[i].is_part[0]);
        look_at_part(&f, 11 * S, 20, 300, cases[i].is_part[1]);
        look_at_part(&f, 12 * S, 100, 200, cases[i].is_part[2]);
        struct phase_figure io = phase_figures_of(&f, process_io_written_bytes, 10 * S, 12 * S);
        assert_int_equal(io.quality, cases[i].written);
        if (io.quality != QUALITY_UNKNOWN)
            assert_true(io.total == cases[i].total);
        struct phase_figure pss = phase_figures_of(&f, process_memory_pss_bytes, 10 * S, 12 * S);
        assert_int_equal(pss.quality, cases[i].pss);
        assert_true(pss.max == 300);
        /* What came after the end may be more than what is missing. */
        if (cases[i].is_part[2])
            assert_int_equal(
                phase_figures_of(&f, process_io_written_bytes, 10 * S, 11 * S + S / 2).quality,
                QUALITY_UNKNOWN);
    }
}

/* Somebody left with what he had: what was seen holds, and may not be all. */
static void test_phase_figures_never_falls(void **state)
{
    struct phase_figures f;
    phase_figures_init(&f);
    look(&f, 1 * S, 10 * S, 1);
    look(&f, 2 * S, 14 * S, 1);
    look(&f, 3 * S, 12 * S, 1);
    struct phase_figure cpu = phase_figures_of(&f, process_cpu_seconds, 1 * S, 3 * S);
    assert_true(cpu.total == 4);
    assert_int_equal(cpu.quality, QUALITY_LOWER_BOUND);
    look(&f, 4 * S, 15 * S, 1); /* it had only been read too early */
    cpu = phase_figures_of(&f, process_cpu_seconds, 1 * S, 4 * S);
    assert_true(cpu.total == 5 && cpu.quality == QUALITY_SAMPLED);
    look(&f, 4 * S, 13 * S, 1);
    look(&f, 4 * S, 14 * S, 1); /* still: an orphan took it along, whatever follows */
    look(&f, 4 * S, 16 * S, 1);
    cpu = phase_figures_of(&f, process_cpu_seconds, 1 * S, 4 * S);
    assert_true(cpu.total == 6 && cpu.quality == QUALITY_LOWER_BOUND);
    f.fell = 0;
    phase_figures_miss(&f); /* for good */
    look(&f, 5 * S, 20 * S, 1);
    cpu = phase_figures_of(&f, process_cpu_seconds, 1 * S, 5 * S);
    assert_true(cpu.total == 10 && cpu.quality == QUALITY_LOWER_BOUND);
    cpu = phase_figures_of(&f, process_cpu_seconds, 1 * S, 4 * S + S / 2);
    assert_int_equal(cpu.quality, QUALITY_SAMPLED); /* what followed may be more than is missing */
}

static void look_at_wait(struct phase_figures *f, uint64_t at_ns, uint64_t refreshed_ns,
                         uint64_t wait_ns)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_wait_seconds, wait_ns);
    row_put_u64(&row, process_processes_started_count, wait_ns / S);
    phase_figures_look(f, &row, at_ns, refreshed_ns);
}

/* Processes that came and went between two looks are missing, in a phase as in the whole. */
static void test_phase_figures_what_is_at_least_so_much(void **state)
{
    static const enum metric_id ids[] = {process_cpu_wait_seconds, process_processes_started_count};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct phase_figures f;
        phase_figures_init(&f);
        look_at_wait(&f, 10 * S, 10 * S, 3 * S);
        look_at_wait(&f, 12 * S, 11 * S, 8 * S);
        struct phase_figure figure = phase_figures_of(&f, ids[i], 10 * S, 12 * S);
        assert_int_equal(figure.quality, QUALITY_LOWER_BOUND);
        assert_true(figure.total == 5);
        /* What came after the end may be more than what is missing. */
        figure = phase_figures_of(&f, ids[i], 10 * S, 11 * S + 3 * S / 4);
        assert_int_equal(figure.quality, QUALITY_SAMPLED);
    }
}

/* What was waited before the phase, and is read in it, is not the phase's. */
static void test_phase_figures_read_before_the_phase(void **state)
{
    struct phase_figures f;
    phase_figures_init(&f);
    look_at_wait(&f, 10 * S, 9 * S, 3 * S);
    assert_int_equal(phase_figures_of(&f, process_cpu_wait_seconds, 10 * S, 11 * S).quality,
                     QUALITY_UNKNOWN);
    look_at_wait(&f, 11 * S, 10 * S, 6 * S);
    look_at_wait(&f, 12 * S, 10 * S, 8 * S);
    struct phase_figure wait = phase_figures_of(&f, process_cpu_wait_seconds, 10 * S, 12 * S);
    assert_int_equal(wait.quality, QUALITY_LOWER_BOUND);
    assert_true(wait.total == 2);
    struct phase_figure started = phase_figures_of(&f, process_processes_started_count, 10 * S,
                                                   12 * S);
    assert_true(started.total == 5); /* members are counted at every look */
}

/* ---- mark totals ---------------------------------------------------------------------------- */

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

static void test_mark_totals_phases_of_a_name(void **state)
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
static void test_mark_totals_the_whole_target_counts_once(void **state)
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

static void test_mark_totals_gauges(void **state)
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

static void test_mark_totals_bounded(void **state)
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
        cmocka_unit_test(test_phases_nested_and_overlapping),
        cmocka_unit_test(test_phases_one_end_too_many),
        cmocka_unit_test(test_phases_died_inside),
        cmocka_unit_test(test_phases_ended_by_another),
        cmocka_unit_test(test_phases_told_for),
        cmocka_unit_test(test_phases_reused_pid),
        cmocka_unit_test(test_phases_whose_figures),
        cmocka_unit_test(test_phases_cut),
        cmocka_unit_test(test_phases_bounded),
        cmocka_unit_test(test_phase_figures_growth_and_peak),
        cmocka_unit_test(test_phase_figures_how_much_was_seen),
        cmocka_unit_test(test_phase_figures_parts),
        cmocka_unit_test(test_phase_figures_never_falls),
        cmocka_unit_test(test_phase_figures_what_is_at_least_so_much),
        cmocka_unit_test(test_phase_figures_read_before_the_phase),
        cmocka_unit_test(test_mark_totals_phases_of_a_name),
        cmocka_unit_test(test_mark_totals_the_whole_target_counts_once),
        cmocka_unit_test(test_mark_totals_gauges),
        cmocka_unit_test(test_mark_totals_bounded),
    };
    return RUN("summary/phases", tests);
}
