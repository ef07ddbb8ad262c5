/* SPDX-License-Identifier: MIT */
#include "account/quality.h"

#include "unit.h"

static struct row full_row(void)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        row_put_u64(&row, id, id + 1);
    return row;
}

static void test_best_rung_that_knows(void **state)
{
    struct row good, poor;
    row_init(&good, ENTITY_PROCESS);
    row_init(&poor, ENTITY_PROCESS);
    row_put_u64(&good, process_cpu_seconds, 10);
    row_put_u64(&poor, process_cpu_seconds, 8);
    row_put_u64(&poor, process_io_read_bytes, 5);
    const struct figure_source sources[] = {
        {"good", &good, ~UINT64_C(0), QUALITY_EXACT, BIT(process_faults_minor_count)},
        {"poor", &poor, ~UINT64_C(0), QUALITY_SAMPLED, BIT(process_io_read_bytes)},
    };
    union value value = {.u = 77};
    struct provenance v = quality_pick(sources, 2, process_cpu_seconds, &value);
    assert_int_equal(v.quality, QUALITY_EXACT);
    assert_string_equal(v.source, "good");
    assert_int_equal(value.u, 10);
    v = quality_pick(sources, 2, process_io_read_bytes, &value);
    assert_int_equal(v.quality, QUALITY_LOWER_BOUND);
    assert_string_equal(v.source, "poor");
    assert_int_equal(value.u, 5);
    value.u = 77;
    v = quality_pick(sources, 2, process_faults_minor_count, &value);
    assert_int_equal(v.quality, QUALITY_UNKNOWN);
    assert_string_equal(v.source, "");
    assert_int_equal(value.u, 77);
    v = quality_pick(sources, 0, process_cpu_seconds, &value);
    assert_int_equal(v.quality, QUALITY_UNKNOWN);
}

static void test_a_rung_answers_only_for_its_own(void **state)
{
    struct row row = full_row();
    const struct figure_source sources[] = {
        {"narrow", &row, BIT(process_cpu_seconds), QUALITY_EXACT, 0},
        {"wide", &row, ~UINT64_C(0), QUALITY_SAMPLED, 0},
    };
    union value value;
    assert_string_equal(quality_pick(sources, 2, process_cpu_seconds, &value).source, "narrow");
    assert_string_equal(quality_pick(sources, 2, process_faults_minor_count, &value).source,
                        "wide");
}

static enum quality quality_of(enum part part, bool own_only, struct evidence e, enum metric_id id)
{
    struct row row = full_row();
    struct figure_source sources[QUALITY_SOURCES_AT_MOST];
    size_t count = quality_sources(sources, part, own_only, &row, &e);
    assert_true(count <= QUALITY_SOURCES_AT_MOST);
    union value value;
    struct provenance v = quality_pick(sources, count, id, &value);
    assert_true(*v.source);
    assert_int_equal(value.u, id + 1);
    return v.quality;
}

static void test_all_reaped(void **state)
{
    struct evidence e = {.all_reaped = true, .peak_is_exact = true};
#define Q(id) quality_of(PART_COMBINED, false, e, id)
    assert_int_equal(Q(process_wall_seconds), QUALITY_EXACT);
    assert_int_equal(Q(process_cpu_seconds), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_switches_voluntary_count), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_storage_written_bytes), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_memory_peak_bytes), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_memory_rss_bytes), QUALITY_SAMPLED);
    assert_int_equal(Q(process_cpu_wait_seconds), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_processes_started_count), QUALITY_LOWER_BOUND);
    e.peak_is_exact = false;
    assert_int_equal(Q(process_memory_peak_bytes), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_cpu_seconds), QUALITY_EXACT_IF_REAPED);
}

static void test_losses(void **state)
{
    struct evidence e = {.all_reaped = true, .peak_is_exact = true, .auto_reaping = true};
    assert_int_equal(Q(process_cpu_seconds), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_io_read_bytes), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_wall_seconds), QUALITY_EXACT);
    assert_int_equal(Q(process_memory_rss_bytes), QUALITY_SAMPLED);
    e.all_reaped = false;
    assert_int_equal(Q(process_cpu_seconds), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_io_read_bytes), QUALITY_LOWER_BOUND);
}

static void test_survivors(void **state)
{
    struct evidence e = {.denied[PART_COMBINED] = BIT(process_io_read_bytes)};
    assert_int_equal(Q(process_cpu_seconds), QUALITY_SAMPLED);
    assert_int_equal(Q(process_io_written_bytes), QUALITY_SAMPLED);
    assert_int_equal(Q(process_io_read_bytes), QUALITY_LOWER_BOUND); /* somebody hides his */
    assert_int_equal(Q(process_switches_voluntary_count), QUALITY_LOWER_BOUND);
#undef Q
}

/* One process: what was read of it after its end cannot change any more. */
static void test_main(void **state)
{
    struct evidence e = {
        .all_reaped = true, .auto_reaping = true, .main_at_end = BIT(process_cpu_seconds)};
    for (int own_only = 0; own_only < 2; own_only++) {
        enum part part = own_only ? PART_COMBINED : PART_MAIN;
        assert_int_equal(quality_of(part, own_only, e, process_cpu_seconds), QUALITY_EXACT);
        /* Not read after its end: more may have come. */
        assert_int_equal(quality_of(part, own_only, e, process_io_read_bytes), QUALITY_LOWER_BOUND);
        assert_int_equal(quality_of(part, own_only, e, process_processes_started_count),
                         QUALITY_EXACT);
    }
}

/* Whatever the evidence, nothing missing is called exact. */
static void test_never_better_than_the_evidence(void **state)
{
    for (unsigned bits = 0; bits < 8; bits++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++) {
            struct evidence e = {.all_reaped = bits & 1,
                                 .auto_reaping = bits & 2,
                                 .peak_is_exact = bits & 4,
                                 .denied[PART_COMBINED] = BIT(id)};
            enum quality q = quality_of(PART_COMBINED, false, e, id);
            assert_true(q != QUALITY_UNKNOWN);
            if (id != process_wall_seconds)
                assert_true(q < QUALITY_EXACT);
            if (!e.all_reaped && id != process_wall_seconds)
                assert_int_equal(q, QUALITY_LOWER_BOUND);
        }
}

static void test_difference(void **state)
{
    struct provenance good = {QUALITY_EXACT, "a"}, poor = {QUALITY_SAMPLED, "b"};
    struct provenance bound = {QUALITY_LOWER_BOUND, "c"}, none = {QUALITY_UNKNOWN, ""};
    assert_int_equal(quality_of_difference(good, good, false).quality, QUALITY_EXACT);
    assert_string_equal(quality_of_difference(good, poor, false).source, "b");
    assert_string_equal(quality_of_difference(poor, good, false).source, "b");
    assert_int_equal(quality_of_difference(bound, good, false).quality, QUALITY_LOWER_BOUND);
    /* Too little taken away is no bound from below. */
    assert_int_equal(quality_of_difference(good, bound, false).quality, QUALITY_SAMPLED);
    assert_int_equal(quality_of_difference(bound, bound, false).quality, QUALITY_SAMPLED);
    /* The figures of the others, of which some are missing. */
    assert_int_equal(quality_of_difference(bound, bound, true).quality, QUALITY_LOWER_BOUND);
    assert_int_equal(quality_of_difference(bound, good, true).quality, QUALITY_LOWER_BOUND);
    assert_int_equal(quality_of_difference(bound, none, true).quality, QUALITY_UNKNOWN);
    assert_int_equal(quality_of_difference(good, bound, true).quality, QUALITY_SAMPLED);
    assert_int_equal(quality_of_difference(good, good, true).quality, QUALITY_EXACT);
    assert_int_equal(quality_of_difference(none, bound, false).quality, QUALITY_UNKNOWN);
    assert_int_equal(quality_of_difference(good, none, false).quality, QUALITY_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_rung_that_knows),
        cmocka_unit_test(test_a_rung_answers_only_for_its_own),
        cmocka_unit_test(test_all_reaped),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_survivors),
        cmocka_unit_test(test_main),
        cmocka_unit_test(test_never_better_than_the_evidence),
        cmocka_unit_test(test_difference),
    };
    return RUN("ladder", tests);
}
