/* SPDX-License-Identifier: MIT */
#include "sample.h"
#include "sink/sink.h"

static struct sink *open_sink(struct sample *s, const char *name, const char *layout)
{
    char path[512];
    struct sink *sink;
    struct toll_error e = {0};
    struct toll_output out = {
        .size = sizeof out, .destination = tree_path(&s->tree, path, name), .layout = layout};
    if (sink_open(&sink, &out, &s->selection, &e) < 0)
        fail_msg("%s", e.message);
    assert_int_equal(sink_begin(sink, &s->run), 0);
    return sink;
}

static void at(struct sample *s, uint64_t ms)
{
    s->frame.interval_ns = ms * NS_PER_MS - s->frame.elapsed_ns;
    s->frame.elapsed_ns = ms * NS_PER_MS;
    s->frame.real_ns = s->run.start_real_ns + s->frame.elapsed_ns;
}

static void put(struct sample *s, enum metric_id id, uint64_t value)
{
    row_put_u64(&s->parts[PART_COMBINED], id, value);
}

/* Ticks are cut, and come with the row in which they are whole; PSS is what it was last. */
static void test_csv(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = open_sink(&s, "x.csv", "resource-tracker");
    put(&s, process_processes_count, 2);
    row_put_u64(&s.parts[PART_DESCENDANTS], process_processes_count, 1);
    at(&s, 1000);
    put(&s, process_cpu_user_seconds, 296 * NS_PER_MS);
    put(&s, process_cpu_system_seconds, 30 * NS_PER_MS);
    put(&s, process_cpu_seconds, 326 * NS_PER_MS);
    put(&s, process_memory_pss_bytes, 5 * 1024);
    put(&s, process_storage_read_bytes, 4096);
    put(&s, process_storage_written_bytes, 0);
    sink_frame(sink, &s.frame);
    at(&s, 3000);
    put(&s, process_cpu_user_seconds, 299 * NS_PER_MS);
    put(&s, process_cpu_seconds, 2326 * NS_PER_MS);
    row_unknown(&s.parts[PART_COMBINED], process_memory_pss_bytes);
    row_unknown(&s.parts[PART_COMBINED], process_storage_read_bytes);
    put(&s, process_storage_written_bytes, 8192);
    sink_frame(sink, &s.frame);
    at(&s, 4000);
    put(&s, process_cpu_user_seconds, 300 * NS_PER_MS);
    put(&s, process_storage_read_bytes, 5000);
    put(&s, process_processes_count, 0);
    sink_frame(sink, &s.frame);
    sample_expect(&s, sink, "x.csv",
                  "\"timestamp\",\"pid\",\"children\",\"utime\",\"stime\",\"cpu_usage\",\"pss\","
                  "\"read_bytes\",\"write_bytes\",\"gpu_usage\",\"gpu_vram\",\"gpu_utilized\"\r\n"
                  "1731000001.123,100,1,29,3,0.326,5,4096,0,0,0,0\r\n"
                  "1731000003.123,100,1,0,0,1.0,5,\"\",8192,0,0,0\r\n"
                  "1731000004.123,100,1,1,0,0,5,904,0,0,0,0\r\n");
    sample_remove(&s);
}

static void test_jsonl(void **state)
{
    struct sample s;
    char expected[2048];
    sample_make(&s, NULL);
    s.run.group = 77;
    s.run.own_pid = 4242;
    struct sink *sink = open_sink(&s, "x.jsonl", "spdl");
    at(&s, 500);
    put(&s, process_cpu_seconds, NS_PER_SECOND);
    put(&s, process_memory_rss_bytes, 4096);
    put(&s, process_processes_count, 3);
    sink_frame(sink, &s.frame);
    at(&s, 1500);
    put(&s, process_cpu_seconds, 3 * NS_PER_SECOND);
    sink_frame(sink, &s.frame);
    static const char rest[] =
        "\"rss_bytes\":4096,\"pss_bytes\":null,\"private_bytes\":null,"
        "\"disk_read_bytes\":null,\"disk_write_bytes\":null,\"num_procs\":3,\"net_rx_bytes\":null,"
        "\"net_tx_bytes\":null}\n";
    snprintf(expected, sizeof expected,
             "{\"pid\":%d,\"pgid\":77,\"cpu_percent\":null,%s"
             "{\"pid\":%d,\"pgid\":77,\"cpu_percent\":200.0,%s",
             4242, rest, 4242, rest);
    sample_expect(&s, sink, "x.jsonl", expected);
    sample_remove(&s);
}

/* What SPDL does not have comes behind what it has, and only when asked for. */
static void test_more_fields_on_request(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.run.group = 77;
    s.run.own_pid = 4242;
    struct sink *sink = open_sink(&s, "x.jsonl", "spdl,columns=all");
    at(&s, 500);
    put(&s, process_processes_count, 3);
    sink_frame(sink, &s.frame);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"pid\":4242,\"pgid\":77,\"cpu_percent\":null,\"rss_bytes\":null,"
                  "\"pss_bytes\":null,\"private_bytes\":null,\"disk_read_bytes\":null,"
                  "\"disk_write_bytes\":null,\"num_procs\":3,\"net_rx_bytes\":null,"
                  "\"net_tx_bytes\":null,\"timestamp\":1731000000.623,"
                  "\"net_rx_bytes_delta\":null,\"net_tx_bytes_delta\":null}\n");
    sample_remove(&s);
}

/* A percentage of no memory is 0, as in that tool, not infinite. */
static void test_divided_by_0(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = open_sink(&s, "x.jsonl", "process-metrics,prefix=,max_memory_megabytes=0");
    at(&s, 1000);
    put(&s, process_memory_rss_bytes, 1 << 20);
    s.frame.last = true;
    sink_frame(sink, &s.frame);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"timestamp\":1731000001.123,\"step\":0,\"cpu_usage_percentage\":null,"
                  "\"memory_rss_megabytes\":1.0,\"memory_vms_megabytes\":null,"
                  "\"memory_uss_megabytes\":null,\"memory_usage_percentage\":0.0,"
                  "\"num_threads\":null,\"num_fds\":null,\"io_read_megabytes\":null,"
                  "\"io_write_megabytes\":null}\n");
    sample_remove(&s);
}

/* Gauges are the mean over the time, CPU is what was used in it; the rest comes with the end. */
static void test_averages(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = open_sink(&s, "x.jsonl",
                                  "process-metrics,samples=2,prefix=,max_memory_megabytes=8");
    static const uint64_t megabytes[] = {1, 4, 2};
    s.frame.elapsed_ns = 0;
    for (unsigned i = 0; i < 3; i++) {
        at(&s, 1000 + i * 500);
        put(&s, process_cpu_seconds, (i + 1) * 300 * NS_PER_MS);
        put(&s, process_memory_rss_bytes, megabytes[i] << 20);
        put(&s, process_storage_read_bytes, (i + 1) << 20);
        s.frame.last = i == 2;
        sink_frame(sink, &s.frame);
    }
    sample_expect(&s, sink, "x.jsonl",
                  "{\"timestamp\":1731000001.623,\"step\":0,\"cpu_usage_percentage\":40.0,"
                  "\"memory_rss_megabytes\":2.0,\"memory_vms_megabytes\":null,"
                  "\"memory_uss_megabytes\":null,\"memory_usage_percentage\":25.0,"
                  "\"num_threads\":null,\"num_fds\":null,\"io_read_megabytes\":2.0,"
                  "\"io_write_megabytes\":null}\n"
                  "{\"timestamp\":1731000002.123,\"step\":1,\"cpu_usage_percentage\":60.0,"
                  "\"memory_rss_megabytes\":2.0,\"memory_vms_megabytes\":null,"
                  "\"memory_uss_megabytes\":null,\"memory_usage_percentage\":25.0,"
                  "\"num_threads\":null,\"num_fds\":null,\"io_read_megabytes\":3.0,"
                  "\"io_write_megabytes\":null}\n");
    sample_remove(&s);
}

/* What counters had before the run is nobody's use of the first row. */
static void test_since_start(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.run.since_start = true;
    struct sink *sink = open_sink(&s, "x.csv", "resource-tracker");
    at(&s, 1000);
    put(&s, process_storage_read_bytes, 1 << 30);
    sink_frame(sink, &s.frame);
    at(&s, 2000);
    put(&s, process_storage_read_bytes, (1 << 30) + 5);
    sink_frame(sink, &s.frame);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.csv");
    assert_non_null(strstr(text, "1731000001.123,100,\"\",\"\",\"\",\"\",\"\",\"\",\"\",0,0,0"));
    assert_non_null(strstr(text, "1731000002.123,100,\"\",\"\",\"\",\"\",\"\",5,\"\",0,0,0"));
    free(text);
    sample_remove(&s);
}

static void frame_at(struct sample *s, struct sink *sink, uint64_t ms, uint64_t cpu_ms)
{
    at(s, ms);
    put(s, process_cpu_seconds, cpu_ms * NS_PER_MS);
    sink_frame(sink, &s->frame);
}

/* A sample at once, and one for the sake of a mark, come with the row behind them; what a counter
 * grew by while it was not known is of all that time. */
static void test_whole_rows(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.run.online_cpus = 4;
    struct sink *sink = open_sink(&s, "x.csv", "resource-tracker");
    frame_at(&s, sink, 1, 1);
    frame_at(&s, sink, 1000, 500);
    s.frame.between = true;
    frame_at(&s, sink, 1500, 1000);
    s.frame.between = false;
    frame_at(&s, sink, 2000, 1300);
    at(&s, 3000);
    row_unknown(&s.parts[PART_COMBINED], process_cpu_seconds);
    sink_frame(sink, &s.frame);
    frame_at(&s, sink, 4000, 1900);
    s.frame.last = true;
    frame_at(&s, sink, 4010, 2000);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.csv");
    const char *at = strchr(text, '\n') + 1;
    static const char *const rows[] = {
        "1731000001.123,100,\"\",\"\",\"\",0.5,", "1731000002.123,100,\"\",\"\",\"\",0.8,",
        "1731000003.123,100,\"\",\"\",\"\",\"\",", "1731000004.123,100,\"\",\"\",\"\",0.3,",
        /* 10 ms alone say nothing: 0.7 s of CPU since 2 s */
        "1731000004.133,100,\"\",\"\",\"\",0.3483,"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++, at = strchr(at, '\n') + 1)
        assert_memory_equal(at, rows[i], strlen(rows[i]));
    assert_string_equal(at, "");
    free(text);
    sample_remove(&s);
}

/* With counters from before the run, the sample at once is what the first row counts from. */
static void test_since_a_sample(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.run.since_start = true;
    struct sink *sink = open_sink(&s, "x.csv", "resource-tracker");
    put(&s, process_cpu_user_seconds, 5005 * NS_PER_MS);
    frame_at(&s, sink, 1, 9000);
    put(&s, process_cpu_user_seconds, 5012 * NS_PER_MS);
    frame_at(&s, sink, 2001, 10000);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.csv");
    assert_non_null(strstr(text, "1731000002.124,100,\"\",1,\"\",0.5,"));
    free(text);
    sample_remove(&s);
}

/* Memory that is read seldom stands until it is read again, and does not turn into RSS between; but
 * what has gone is not there. */
static void test_held_memory(void **state)
{
    static const struct {
        uint64_t distinct, rss, processes;
        const char *row;
    } all[] = {
        {0, 1000, 1, ",,1000.0,"}, {900, 1000, 1, ",,900.0,"}, {0, 1100, 1, ",,900.0,"},
        {0, 400, 1, ",,400.0,"},   {0, 1000, 0, ",,1000.0,"},
    };
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = open_sink(&s, "x.csv", "gpu-tracker,ram_unit=bytes");
    for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
        put(&s, process_memory_distinct_bytes, all[i].distinct);
        if (!all[i].distinct)
            row_unknown(&s.parts[PART_COMBINED], process_memory_distinct_bytes);
        put(&s, process_memory_rss_bytes, all[i].rss);
        put(&s, process_processes_count, all[i].processes);
        frame_at(&s, sink, (i + 1) * 1000, 0);
    }
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.csv");
    const char *at = text;
    for (unsigned i = 0; i < 3; i++) /* the facts and the names */
        at = strchr(at, '\n') + 1;
    for (size_t i = 0; i < ARRAY_LEN(all); i++, at = strchr(at, '\n') + 1)
        assert_memory_equal(at, all[i].row, strlen(all[i].row));
    free(text);
    sample_remove(&s);
}

static void gauge(struct sample *s, enum part part, enum metric_id id, uint64_t most)
{
    struct series *series = &s->summary.whole.series[part][id];
    series_put(series, metric_of(id), (union value){.u = most}, NS_PER_SECOND);
    series_put(series, metric_of(id), (union value){.u = most / 2}, 2 * NS_PER_SECOND);
    s->summary.whole.provenance[part][id] = (struct provenance){QUALITY_SAMPLED, "test"};
}

static void cores(struct sample *s, enum part part, double in_use)
{
    enum metric_id id = process_cpu_cores;
    struct series *series = &s->summary.whole.series[part][id];
    series_put(series, metric_of(id), (union value){.d = in_use}, 2 * NS_PER_SECOND);
    s->summary.whole.provenance[part][id] = (struct provenance){QUALITY_SAMPLED, "test"};
}

static char *summary_of(struct sample *s, const char *name, const char *layout)
{
    struct sink *sink = open_sink(s, name, layout);
    assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_close(sink, false);
    return tree_read(&s->tree, name);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        assert_string_equal(text, part);
}

/* A document nests by the dots; text has three decimals, JSON all; no GPU is 0, the machine, which
 * was not measured, is unknown. */
static void test_documents(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    gauge(&s, PART_MAIN, process_memory_distinct_bytes, 890703872);
    gauge(&s, PART_MAIN, process_memory_uss_bytes, 674058240);
    gauge(&s, PART_COMBINED, process_memory_rss_bytes, 901263360);
    gauge(&s, PART_MAIN, process_threads_count, 24);
    sample_total(&s, PART_MAIN, process_cpu_seconds, 4 * NS_PER_SECOND, QUALITY_EXACT);
    cores(&s, PART_MAIN, 0.9125833335); /* maximum and mean are of these, whatever a counter says */
    static const char layout[] = "gpu-tracker,ram_unit=megabytes,time_unit=minutes,"
                                 "n_expected_cores=12";
    char *text = summary_of(&s, "x.txt", layout);
    expect(text, "Max RAM:\n   Unit: megabytes\n   System capacity: unknown\n"
                 "   System: unknown\n   Main:\n      Total RSS: 890.704\n"
                 "      Private RSS: 674.058\n      Shared RSS: unknown\n   Descendants:\n");
    expect(text, "   Combined:\n      Total RSS: 901.263\n");
    expect(text, "Max GPU RAM:\n   Unit: gigabytes\n   System capacity: 0.0\n");
    expect(text, "      Mean sum percent: 91.258\n      Mean hardware percent: 7.605\n");
    expect(text, "   Main number of threads: 24\n   Descendants number of threads: unknown\n");
    expect(text, "Compute time:\n   Unit: minutes\n   Time: 0.033\n");
    free(text);
    text = summary_of(&s, "x.json", layout);
    expect(text, "{\n \"max_ram\": {\n  \"unit\": \"megabytes\",\n"
                 "  \"system_capacity\": null,\n  \"system\": null,\n  \"main\": {\n"
                 "   \"total_rss\": 890.7038719999999,\n   \"private_rss\": 674.05824,\n"
                 "   \"shared_rss\": null\n  },\n  \"descendants\": {\n");
    expect(text, "  \"combined\": 0.0\n },\n \"cpu_utilization\": {\n");
    expect(text, "  \"n_expected_cores\": 12,\n");
    expect(text, "   \"mean_sum_percent\": 91.2583334,\n"
                 "   \"mean_hardware_percent\": 7.604861116666666\n  },\n");
    expect(text, " \"compute_time\": {\n  \"unit\": \"minutes\",\n"
                 "  \"time\": 0.03333333333333333\n }\n}\n");
    free(text);
    sample_remove(&s);
}

static void test_mistakes(void **state)
{
    struct sample s;
    struct sink *sink;
    struct toll_error e = {0};
    sample_make(&s, NULL);
    struct toll_output out = {.size = sizeof out, .fd = 1, .format = "lines", .layout = "spdl"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, &e), -EINVAL);
    assert_string_equal(e.message, "layout spdl: unsupported format 'lines' (expected jsonl)");
    out.format = "jsonl";
    assert_int_equal(sink_open(&sink, &out, &s.selection, &e), 0);
    assert_true(sink_needs_system(sink));
    assert_int_equal(sink_check_subject(sink, true, &e), 0);
    assert_int_equal(sink_check_subject(sink, false, &e), -EINVAL);
    assert_string_equal(e.message, "layout spdl is for processes, not the whole machine");
    sink_close(sink, false);
    out.format = "csv";
    out.layout = "resource-tracker";
    assert_int_equal(sink_open(&sink, &out, &s.selection, &e), 0);
    assert_false(sink_needs_system(sink));
    sink_close(sink, false);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),          cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_averages),     cmocka_unit_test(test_since_start),
        cmocka_unit_test(test_whole_rows),   cmocka_unit_test(test_since_a_sample),
        cmocka_unit_test(test_held_memory),  cmocka_unit_test(test_documents),
        cmocka_unit_test(test_mistakes),     cmocka_unit_test(test_more_fields_on_request),
        cmocka_unit_test(test_divided_by_0),
    };
    return RUN("sink/layout", tests);
}
