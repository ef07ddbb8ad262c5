/* SPDX-License-Identifier: MIT */
#include "record/write.h"
#include "sample.h"

static void look(struct phase_figures *f, uint64_t at_ns, uint64_t cpu_ns, uint64_t rss)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    row_put_u64(&row, process_memory_rss_bytes, rss);
    phase_figures_look(f, &row, at_ns, at_ns);
}

static void test_lines(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,memory_rss_bytes,storage_read_bytes,memory_peak_bytes");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    struct phase p = {.name = strdupa("load"),
                      .pid = 7,
                      .begin_ns = 1500000000,
                      .end_ns = 2500000000,
                      .scope = SCOPE_PROCESS};
    phase_figures_init(&p.of_process);
    look(&p.of_process, 1500000000, 0, 4096);
    look(&p.of_process, 2500000000, 500000000, 8192);
    struct told_mark m = {.kind = MARK_PHASE_END,
                          .name = p.name,
                          .pid = 7,
                          .elapsed_ns = 1500000000,
                          .start_ns = 1000000000,
                          .attributes = scan_string("k=a%20b"),
                          .phase = &p};
    assert_int_equal(sink_mark(sink, &m), 0);
    m = (struct told_mark){.kind = MARK_GAUGE, .name = "loss", .pid = 7, .value = -1e-12};
    assert_int_equal(sink_mark(sink, &m), 0);
    m = (struct told_mark){
        .kind = MARK_EVENT, .name = "saved", .attributes = scan_string("@pid=3 x=")};
    assert_int_equal(sink_mark(sink, &m), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"phase\",\"elapsed_seconds\":1.5,\"name\":\"load\",\"pid\":7,"
                  "\"attributes\":{\"k\":\"a b\"},\"begin_seconds\":0.5,\"end_seconds\":1.5,"
                  "\"seconds\":1,\"ended\":true,\"of\":\"process\",\"looks\":2,\"figures\":{"
                  "\"cpu_seconds\":{\"total\":0.5,\"quality\":\"sampled\"},"
                  "\"memory_rss_bytes\":{\"mean\":8192,\"max\":8192,\"quality\":\"sampled\"},"
                  "\"storage_read_bytes\":{\"quality\":\"unknown\"}}}\n"
                  "{\"type\":\"gauge\",\"elapsed_seconds\":0,\"name\":\"loss\",\"pid\":7,"
                  "\"value\":-1e-12}\n"
                  "{\"type\":\"event\",\"elapsed_seconds\":0,\"name\":\"saved\",\"pid\":0,"
                  "\"attributes\":{\"x\":\"\"}}\n");
    sample_remove(&s);
}

static void test_totals(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds");
    struct mark_totals *t = &s.summary.marks;
    struct phase_figures f;
    phase_figures_init(&f);
    look(&f, 0, 0, 1);
    look(&f, NS_PER_SECOND, 250000000, 1);
    t->taken = 3;
    t->events = 1;
    mark_totals_phase(t, &(struct phase_over){"a", 7, 0, NS_PER_SECOND, .figures = &f});
    mark_totals_gauge(t, "g", 1.5, 2000000000);
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_marks(&j, t, &s.selection);
    json_object_end(&j);
    assert_string_equal(
        b.data, "{\"phases\":[{\"name\":\"a\",\"count\":1,\"not_ended_count\":0,"
                "\"measured_count\":1,\"of_several_processes\":false,\"of\":\"process\","
                "\"total_seconds\":1,\"min_seconds\":1,\"mean_seconds\":1,\"max_seconds\":1,"
                "\"figures\":{\"cpu_seconds\":{\"total\":0.25,\"quality\":\"sampled\"}}}],"
                "\"gauges\":[{\"name\":\"g\",\"count\":1,\"last\":1.5,\"min\":1.5,\"mean\":1.5,"
                "\"max\":1.5,\"max_at_seconds\":2}],\"events\":1,\"marks\":{\"taken\":3,"
                "\"ignored\":0,\"lost\":0,\"left_out\":0,\"unmatched\":0}}");
    buf_done(&b);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_totals),
    };
    return RUN("record_marks", tests);
}
