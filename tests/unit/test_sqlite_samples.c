/* SPDX-License-Identifier: MIT */
#include "record/sqlite/lines.h"

#include "sqlite_record.h"

static void add_to(struct buf *b, const char *path, const struct sqlite_sample *sample)
{
    struct sqlite_samples x = {0};
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(path, SQLITE_MODE_READ);
    assert_true(sqlite_samples_init(&x, db, &e) >= 0);
    assert_int_equal(sqlite_samples_add(&x, b, sample, &e), 0);
    assert_string_equal(e.message, "");
    sqlite_samples_done(&x);
    sqlite_close(db);
}

static void test_a_line(void **state)
{
    struct sample s;
    struct buf b = {0};
    const char *path = sqlite_record_make(&s, true);
    struct sqlite_sample sample = {.run = 1,
                                   .elapsed_ns = 1500000000,
                                   .interval_ns = 10000000,
                                   .time_ns = UINT64_C(1731000000123000000),
                                   .gpu_count = 2,
                                   .facts = &s.run,
                                   .selection = &s.selection};
    add_to(&b, path, &sample);
    assert_string_equal(b.data,
                        "{\"type\":\"sample\",\"tick\":0,\"time\":\"2024-11-07T17:20:00.123Z\","
                        "\"unix_seconds\":1731000000.123,\"elapsed_seconds\":1.5,"
                        "\"interval_seconds\":0.01,\"gpu_count\":2,\"target\":{\"combined\":"
                        "{\"cpu_seconds\":1.5},\"main\":{},\"descendants\":{}},"
                        "\"self\":{\"ticks\":null}}");
    buf_clear(&b);
    sample.tick = 5; /* which nobody has written: nothing is made up */
    add_to(&b, path, &sample);
    assert_null(strstr(b.data, "cpu_seconds"));
    buf_done(&b);
    sample_remove(&s);
}

/* What is known of a figure that lacks a process. */
static void test_lower_bounds(void **state)
{
    struct sample s;
    struct buf b = {0};
    char path[512];
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds,process_cpu_seconds,target_memory_rss_bytes");
    struct sink *sink = sample_sink(&s, "run.db");
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_rss_bytes, 4096);
    row_bound(&s.parts[PART_COMBINED], BIT(process_cpu_seconds));
    row_put_u64(&s.process.own, process_cpu_seconds, 250000000);
    row_bound(&s.process.own, BIT(process_cpu_seconds));
    struct frame_row rows[] = {{&s.process.entity, &s.process.own}};
    s.frame.processes = rows;
    s.frame.process_count = 1;
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    sink_close(sink, false);
    struct sqlite_sample sample = {.run = 1, .facts = &s.run, .selection = &s.selection};
    add_to(&b, tree_path(&s.tree, path, "run.db"), &sample);
    assert_non_null(strstr(b.data, "\"combined\":{\"cpu_seconds\":null,\"memory_rss_bytes\":4096,"
                                   "\"lower_bound\":{\"cpu_seconds\":1.5}},\"main\":{"));
    assert_non_null(
        strstr(b.data, "\"cpu_seconds\":null,\"lower_bound\":{\"cpu_seconds\":0.25}}]"));
    buf_done(&b);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_line, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_lower_bounds, sqlite_place_is_built_in),
    };
    return RUN("sqlite_samples", tests);
}
