/* SPDX-License-Identifier: MIT */
#include "summary/phases.h"

#include "unit.h"

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

static void test_growth_and_peak(void **state)
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

static void test_how_much_was_seen(void **state)
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
static void test_parts(void **state)
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
static void test_never_falls(void **state)
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
static void test_what_is_at_least_so_much(void **state)
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
static void test_read_before_the_phase(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth_and_peak),
        cmocka_unit_test(test_how_much_was_seen),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_never_falls),
        cmocka_unit_test(test_what_is_at_least_so_much),
        cmocka_unit_test(test_read_before_the_phase),
    };
    return RUN("phase_figures", tests);
}
