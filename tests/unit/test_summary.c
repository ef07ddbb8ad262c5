/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"

#include "unit.h"

#include <stdio.h>

static struct summary *fresh(const struct run *run)
{
    struct summary *s = malloc(sizeof *s);
    assert_non_null(s);
    assert_int_equal(summary_init(s, run), 0);
    return s;
}

static void drop(struct summary *s)
{
    summary_done(s);
    summary_done(s);
    free(s);
}

static void test_frames(void **state)
{
    struct run run = {0};
    struct summary *s = fresh(&run);
    struct entity entity = {0};
    struct row combined, self;
    row_init(&combined, ENTITY_PROCESS);
    row_init(&self, ENTITY_SELF);
    struct frame f = {.target[PART_COMBINED] = {&entity, &combined}, .self = {&entity, &self}};
    for (unsigned i = 1; i <= 10; i++) {
        f.elapsed_ns = i * NS_PER_SECOND;
        row_put_u64(&combined, process_cpu_seconds, i * NS_PER_SECOND / 2);
        row_put_u64(&combined, process_memory_rss_bytes, i * 100);
        row_put_u64(&self, self_ticks_count, i);
        summary_frame(s, &f);
    }
    summary_end(s, f.elapsed_ns);
    const struct series *cpu = &s->whole.series[PART_COMBINED][process_cpu_seconds];
    assert_int_equal(cpu->last.u, 5 * NS_PER_SECOND);
    assert_true(series_mean(cpu, metric_of(process_cpu_seconds)) == 0.5);
    assert_true(s->whole.series[PART_COMBINED][process_memory_rss_bytes].max == 1000);
    assert_int_equal(s->self[self_ticks_count - self_first].last.u, 10);
    assert_int_equal(s->elapsed_ns, 10 * NS_PER_SECOND);
    /* Nothing is made of what was not there. */
    assert_int_equal(s->whole.series[PART_MAIN][process_cpu_seconds].count, 0);
    assert_int_equal(s->whole.series[PART_COMBINED][process_io_read_bytes].observed_ns, 0);
    double value;
    assert_true(series_quantile(cpu, metric_of(process_cpu_seconds), 0.5, &value));
    drop(s);
}

/* A value that is unknown for a while stands, when it is known again, for that while. */
static void test_gaps(void **state)
{
    struct run run = {0};
    struct summary *s = fresh(&run);
    struct entity entity = {0};
    struct row combined;
    row_init(&combined, ENTITY_PROCESS);
    struct frame f = {.target[PART_COMBINED] = {&entity, &combined}};
    for (unsigned i = 1; i <= 10; i++) {
        f.elapsed_ns = i * NS_PER_SECOND;
        if (i % 5 == 0)
            row_put_u64(&combined, process_memory_pss_bytes, i);
        else
            row_unknown(&combined, process_memory_pss_bytes);
        summary_frame(s, &f);
    }
    const struct series *pss = &s->whole.series[PART_COMBINED][process_memory_pss_bytes];
    assert_int_equal(pss->count, 2);
    assert_true(series_mean(pss, metric_of(process_memory_pss_bytes)) == 7.5);
    drop(s);
}

static void test_notes(void **state)
{
    struct run run = {0};
    struct summary *s = fresh(&run);
    char sentence[] = "one";
    assert_true(summary_note(s, sentence));
    sentence[0] = 'X'; /* it was copied */
    assert_string_equal(s->notes[0], "one");
    assert_false(summary_note(s, "one"));
    assert_int_equal(s->note_count, 1);
    for (unsigned i = 1; i < 100; i++) {
        char other[32];
        snprintf(other, sizeof other, "note %u", i);
        assert_int_equal(summary_note(s, other), i < SUMMARY_NOTES);
    }
    assert_true(s->note_count >= SUMMARY_NOTES);
    assert_string_equal(s->notes[SUMMARY_NOTES - 1], "note 15");
    assert_false(summary_note(s, "note 15"));
    drop(s);
}

static void test_unknown_until_judged(void **state)
{
    struct run run = {0};
    struct summary *s = fresh(&run);
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            assert_int_equal(s->whole.provenance[part][id].quality, QUALITY_UNKNOWN);
    drop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_unknown_until_judged),
    };
    return RUN("summary", tests);
}
