/* SPDX-License-Identifier: MIT */
#include "sample.h"

static void test_a_sample(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,memory_rss_bytes");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 2500000000);
    row_put_u64(&s.parts[PART_MAIN], process_memory_rss_bytes, 0);
    row_put_u64(&s.process.own, process_memory_rss_bytes, 4096);
    struct frame_row rows[] = {{&s.process.entity, &s.process.own}};
    s.frame.tick = 7;
    s.frame.processes = rows;
    s.frame.process_count = 1;
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"sample\",\"tick\":7,\"time\":\"2024-11-07T17:20:00.123Z\","
                  "\"unix_seconds\":1731000000.123,\"elapsed_"
                  "seconds\":1.5,"
                  "\"interval_seconds\":0.01,\"target\":{"
                  "\"combined\":{\"cpu_seconds\":2.5,\"memory_rss_bytes\":null},"
                  "\"main\":{\"cpu_seconds\":null,\"memory_rss_bytes\":0},"
                  "\"descendants\":{\"cpu_seconds\":null,\"memory_rss_bytes\":null}},"
                  "\"self\":{\"cpu_seconds\":null,\"memory_rss_bytes\":null},"
                  "\"processes\":[{\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
                  "\"cpu_seconds\":null,\"memory_rss_bytes\":4096}]}\n");
    sample_remove(&s);
}

/* Unknown, with what is known of it beside. */
static void test_lower_bounds(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds,target_memory_rss_bytes,process_memory_rss_bytes");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 2500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_rss_bytes, 4096);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_pss_bytes, 1); /* not selected */
    row_bound(&s.parts[PART_COMBINED],
              BIT(process_memory_rss_bytes) | BIT(process_memory_pss_bytes));
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    row_put_u64(&s.process.own, process_memory_rss_bytes, 8192);
    s.process.denied = BIT(process_memory_rss_bytes);
    struct process_end end = {.process = &s.process, .how = LEFT_INSIDE};
    assert_int_equal(sink_process_end(sink, &end), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"sample\",\"tick\":0,\"time\":\"2024-11-07T17:20:00.123Z\","
                  "\"unix_seconds\":1731000000.123,\"elapsed_seconds\":1.5,"
                  "\"interval_seconds\":0.01,\"target\":{"
                  "\"combined\":{\"cpu_seconds\":2.5,\"memory_rss_bytes\":null,"
                  "\"lower_bound\":{\"memory_rss_bytes\":4096}},"
                  "\"main\":{},\"descendants\":{}},\"self\":{}}\n"
                  "{\"type\":\"process\",\"elapsed_seconds\":0,\"left\":\"reaped inside\","
                  "\"end\":null,\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
                  "\"memory_rss_bytes\":null,\"lower_bound\":{\"memory_rss_bytes\":8192}}\n");
    sample_remove(&s);
}

static void test_the_end_of_a_process(void **state)
{
    struct sample s;
    sample_make(&s, "process_cpu_seconds");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    row_put_u64(&s.process.own, process_cpu_seconds, 1);
    struct process_end end = {.process = &s.process,
                              .how = LEFT_REAPED,
                              .has_status = true,
                              .end = {.ended = true, .signaled = true, .status = 9},
                              .elapsed_ns = 500000000};
    assert_int_equal(sink_process_end(sink, &end), 0);
    end.how = LEFT_LOST;
    end.has_status = false;
    assert_int_equal(sink_process_end(sink, &end), 0);
    sample_expect(
        &s, sink, "x.jsonl",
        "{\"type\":\"process\",\"elapsed_seconds\":0.5,\"left\":\"reaped by toll\",\"end\":{"
        "\"status\":\"signaled\",\"code\":null,\"signal\":9,\"core_dumped\":false,\"oom_killed\":"
        "false,\"timed_out\":false},"
        "\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
        "\"cpu_seconds\":0.000000001}\n"
        "{\"type\":\"process\",\"elapsed_seconds\":0.5,\"left\":\"reaped by nobody\",\"end\":null,"
        "\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
        "\"cpu_seconds\":0.000000001}\n");
    sample_remove(&s);
}

static void test_a_note(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.jsonl");
    assert_int_equal(sink_note(sink, 1, "a \"quoted\" word\n"), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"event\",\"elapsed_seconds\":0.000000001,\"name\":\"note\","
                  "\"text\":\"a \\\"quoted\\\" word\\n\"}\n");
    sample_remove(&s);
}

/* Every piece is one line, so that a cut record is a shorter record. */
static void test_a_line_a_chunk(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.jsonl");
    s.process.entity.name[0] = '\n';
    struct process_end end = {.process = &s.process};
    sink_begin(sink, &s.run);
    sink_frame(sink, &s.frame);
    sink_process_end(sink, &end);
    sink_note(sink, 0, "line\nbreak");
    sink_summary(sink, &s.summary);
    assert_int_equal(sink->chunks, 5);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.jsonl");
    unsigned lines = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1, lines++)
        assert_memory_equal(line, "{\"type\":\"", 9);
    assert_int_equal(lines, 5);
    free(text);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sample),
        cmocka_unit_test(test_lower_bounds),
        cmocka_unit_test(test_the_end_of_a_process),
        cmocka_unit_test(test_a_note),
        cmocka_unit_test(test_a_line_a_chunk),
    };
    return RUN("jsonl", tests);
}
