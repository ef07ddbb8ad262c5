/* SPDX-License-Identifier: MIT */
#include "sink/text/table.h"

#include "sample.h"

/* The lines of the table of the sample's target, as this part of the sink makes them. */
static void expect(struct sample *s, unsigned flags, const char *text)
{
    struct sink sink = {.flags = flags, .selection = s->selection};
    struct text_rows r = text_rows_of_target(&sink, &s->summary.whole);
    text_table(&sink, &r, s->summary.elapsed_ns);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, text);
    buf_done(&sink.text);
}

static void test_figures(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.summary.whole.has_parts = false;
    expect(&s, 0, ""); /* nothing is known: no heading either */
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 2500000000, QUALITY_EXACT);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 4 << 20, QUALITY_LOWER_BOUND);
    sample_total(&s, PART_COMBINED, process_storage_written_bytes, 0, QUALITY_EXACT);
    expect(&s, 0,
           "                          total, peak       mean\n"
           "CPU time                       2.50 s\n"
           "storage read               ≥ 4.00 MiB 2.00 MiB/s at least\n\n");
    expect(&s, TOLL_OUTPUT_COLOR,
           DIM "                          total, peak       mean" PLAIN "\n"
               "CPU time                 " BOLD "      2.50 s" PLAIN "\n"
               "storage read             " BOLD "  ≥ 4.00 MiB" PLAIN " 2.00 MiB/s" DIM
               " at least" PLAIN "\n\n");
    sample_remove(&s);
}

/* Too short a run says nothing about a second. */
static void test_no_rates_of_a_moment(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.summary.whole.has_parts = false;
    s.summary.elapsed_ns = NS_PER_SECOND - 1;
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 4 << 20, QUALITY_EXACT);
    expect(&s, 0,
           "                          total, peak       mean\n"
           "storage read                 4.00 MiB\n\n");
    sample_remove(&s);
}

/* Main process and descendants, as soon as these did something; unknown is no number. */
static void test_parts(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 3000000000, QUALITY_EXACT);
    sample_total(&s, PART_DESCENDANTS, process_cpu_seconds, 1000000000, QUALITY_EXACT);
    expect(&s, 0,
           "                          total, peak       mean       main descendants\n"
           "CPU time                       3.00 s                     ?      1.00 s\n\n");
    sample_remove(&s);
}

/* A part that is worse than the whole says so. */
static void test_parts_that_are_worse(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,cpu_user_seconds,cpu_wait_seconds,storage_read_bytes");
    for (unsigned part = 0; part < PARTS; part++) {
        enum quality q = part == PART_COMBINED ? QUALITY_EXACT_IF_REAPED : QUALITY_SAMPLED;
        sample_total(&s, part, process_cpu_seconds, 3000000000, QUALITY_EXACT);
        sample_total(&s, part, process_cpu_user_seconds, 2000000000, q);
        sample_total(&s, part, process_cpu_wait_seconds, 1000000000,
                     part == PART_MAIN ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED);
        sample_total(&s, part, process_storage_read_bytes, 4096,
                     part == PART_DESCENDANTS ? QUALITY_SAMPLED : QUALITY_LOWER_BOUND);
    }
    expect(&s, 0,
           "                          total, peak       mean       main descendants\n"
           "CPU time                       3.00 s                3.00 s      3.00 s\n"
           "CPU time, user                 2.00 s              ~ 2.00 s    ~ 2.00 s\n"
           "waited for a CPU               1.00 s              ≥ 1.00 s      1.00 s sampled\n"
           "storage read               ≥ 4.00 KiB 2.00 KiB/s ≥ 4.00 KiB  ~ 4.00 KiB at least\n\n");
    struct sink sink = {.selection = s.selection};
    struct text_rows r = text_rows_of_target(&sink, &s.summary.whole);
    assert_true(text_has_sampled_parts(&sink, &r));
    assert_int_equal(selection_parse(&sink.selection, "cpu_seconds,cpu_wait_seconds", NULL), 0);
    r = text_rows_of_target(&sink, &s.summary.whole);
    assert_false(text_has_sampled_parts(&sink, &r));
    sample_remove(&s);
}

/* What was zero, and what nobody knows, are told apart. */
static void test_the_rest(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,storage_read_bytes,storage_written_bytes");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1, QUALITY_EXACT);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 0, QUALITY_EXACT);
    /* At least nothing: that is no knowledge. */
    sample_total(&s, PART_COMBINED, process_storage_written_bytes, 0, QUALITY_LOWER_BOUND);
    struct sink sink = {.selection = s.selection};
    struct text_rows r = text_rows_of_target(&sink, &s.summary.whole);
    text_rest(&sink, &r);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, "zero: storage read\nnone seen: storage written\n");
    buf_done(&sink.text);
    sink = (struct sink){.selection = s.selection, .flags = TOLL_OUTPUT_VERBOSE};
    for (unsigned i = 0; i < PROCESS_METRICS; i++) /* with all asked for, each has its line */
        assert_int_equal(text_has_line(&sink, &r, i), s.selection.parts[PART_COMBINED] >> i & 1);
    text_rest(&sink, &r);
    assert_int_equal(sink.text.length, 0);
    buf_done(&sink.text);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),  cmocka_unit_test(test_no_rates_of_a_moment),
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_parts_that_are_worse),
        cmocka_unit_test(test_the_rest),
    };
    return RUN("text_table", tests);
}
