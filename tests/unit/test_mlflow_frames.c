/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/frames.h"

#include "sample.h"
#include "sink/open.h"

static void test_frames_and_gauges(void **state)
{
    struct sample s;
    struct mlflow_frames f = {0};
    struct toll_error e;
    struct buf ops = {0};
    sample_make(&s, "target_cpu_seconds,target_memory_rss_bytes");
    struct sink sink = {.selection = s.selection, .run = &s.run};
    assert_int_equal(mlflow_frames_init(&f, &sink, false, "system/", "node/1", 0, &e), 0);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    s.frame.tick = 7;
    s.frame.real_ns = UINT64_C(1700000000123999999);
    mlflow_frames_put(&f, &sink, &s.frame);
    struct chunk chunks[3] = {{CHUNK_FRAME, 1, sink.text.data, sink.text.length},
                              {CHUNK_BEGIN, 0, "batch - 2\n{}\n", 13}};
    struct sink other = {.run = &s.run};
    struct told_mark mark = {.kind = MARK_GAUGE, .name = "loss", .value = 0.5};
    mlflow_frames_put_gauge(&f, &other, &mark);
    chunks[2] = (struct chunk){CHUNK_MARK, 0, other.text.data, other.text.length};
    struct batch b = {.chunks = chunks, .count = 3, .samples = 1};
    mlflow_frames_encode(&f, &b, &ops);
    assert_false(buf_failed(&ops));
    assert_non_null(strstr(ops.data, "{\"key\":\"system/node_1/target_cpu_seconds\",\"value\":1.5,"
                                     "\"timestamp\":1700000000123,\"step\":7}"));
    assert_non_null(strstr(ops.data, "]}\nbatch - 2\n{}\nbatch - "));
    assert_non_null(strstr(ops.data, "{\"key\":\"loss\",\"value\":0.5,\"timestamp\":"));
    buf_done(&ops);
    buf_done(&sink.text);
    buf_done(&other.text);
    mlflow_frames_done(&f);
    sample_remove(&s);
}

struct folding {
    struct sample sample;
    struct mlflow_frames frames;
    struct sink sink;
    struct buf ops;
    uint64_t tick;
};

static void folding_make(struct folding *x, uint64_t interval_ns, const char *metrics)
{
    struct toll_error e;
    *x = (struct folding){0};
    sample_make(&x->sample, metrics);
    x->sink = (struct sink){
        .kind = &sink_mlflow, .selection = x->sample.selection, .run = &x->sample.run};
    assert_int_equal(
        mlflow_frames_init(&x->frames, &x->sink, false, "system/", "", interval_ns, &e), 0);
}

/* A sample at so many milliseconds; RSS below 0: unknown in it. */
static void folding_put(struct folding *x, uint64_t at_ms, uint64_t cpu_ms, int rss, bool last)
{
    struct row *row = &x->sample.parts[PART_COMBINED];
    struct frame *f = &x->sample.frame;
    row->present = 0;
    row_put_u64(row, process_cpu_seconds, cpu_ms * NS_PER_MS);
    if (rss >= 0)
        row_put_u64(row, process_memory_rss_bytes, (uint64_t)rss);
    f->tick = x->tick++;
    f->elapsed_ns = at_ms * NS_PER_MS;
    f->real_ns = UINT64_C(1700000000) * NS_PER_SECOND + f->elapsed_ns;
    f->last = last;
    buf_clear(&x->sink.text);
    x->sink.folded = 0;
    mlflow_frames_put(&x->frames, &x->sink, f);
}

/* The point that the last sample made, as it is sent. */
static const char *folding_sent(struct folding *x, unsigned samples)
{
    assert_int_equal(x->sink.folded, samples);
    struct chunk chunk = {CHUNK_FRAME, samples, x->sink.text.data, x->sink.text.length};
    buf_clear(&x->ops);
    mlflow_frames_encode(&x->frames, &(struct batch){.chunks = &chunk, .count = 1}, &x->ops);
    return x->ops.data;
}

static void folding_remove(struct folding *x)
{
    mlflow_frames_done(&x->frames);
    buf_done(&x->sink.text);
    buf_done(&x->ops);
    sample_remove(&x->sample);
}

#define FIGURES "target_cpu_seconds,target_memory_rss_bytes"
#define POINT(key, value, ms, step)                                                                \
    "{\"key\":\"system/target_" key "\",\"value\":" value ",\"timestamp\":17000000" ms             \
    ",\"step\":" step "}"

/* One point in ten seconds: of a counter the last value, of a gauge the mean, in which each value
 * weighs as much as the time since the one before; what is left comes with the last sample. */
static void test_samples_make_a_point(void **state)
{
    struct folding x;
    folding_make(&x, 10 * NS_PER_SECOND, FIGURES);
    folding_put(&x, 1000, 100, 40, false); /* one second of 40 */
    assert_int_equal(x.sink.text.length, 0);
    folding_put(&x, 5000, 200, -1, false);
    folding_put(&x, 9000, 300, 10, false); /* eight of 10 */
    assert_int_equal(x.sink.text.length, 0);
    folding_put(&x, 10000, 400, 20, false); /* one of 20 */
    const char *sent = folding_sent(&x, 4);
    assert_non_null(strstr(sent, POINT("cpu_seconds", "0.4", "10000", "3")));
    assert_non_null(strstr(sent, POINT("memory_rss_bytes", "14", "10000", "3")));
    folding_put(&x, 11000, 500, -1, false);
    folding_put(&x, 12000, 600, -1, true);
    sent = folding_sent(&x, 2);
    assert_non_null(strstr(sent, POINT("cpu_seconds", "0.6", "12000", "5")));
    assert_null(strstr(sent, "memory_rss_bytes")); /* unknown is no point */
    struct buf rest = {0};
    assert_int_equal(mlflow_frames_rest(&x.frames, &rest), 0);
    folding_remove(&x);
}

/* Samples that are farther apart than points, or all that were asked for. */
static void test_every_sample_is_a_point(void **state)
{
    static const uint64_t intervals[] = {0, NS_PER_SECOND};
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        struct folding x;
        folding_make(&x, intervals[i], FIGURES);
        for (unsigned k = 1; k <= 3; k++) {
            folding_put(&x, 1000 * k, 100, 7 * (int)k, false);
            const char *sent = folding_sent(&x, 1);
            char value[64];
            snprintf(value, sizeof value, "\"system/target_memory_rss_bytes\",\"value\":%u,",
                     7 * k);
            assert_non_null(strstr(sent, value));
        }
        folding_remove(&x);
    }
}

/* A record that was cut short has no last sample: what was gathered is not lost. */
static void test_the_rest(void **state)
{
    struct folding x;
    struct buf rest = {0};
    folding_make(&x, 10 * NS_PER_SECOND, FIGURES);
    folding_put(&x, 1000, 100, 40, false);
    folding_put(&x, 2000, 200, 20, false);
    unsigned samples = mlflow_frames_rest(&x.frames, &rest);
    assert_int_equal(samples, 2);
    x.sink.folded = samples;
    buf_clear(&x.sink.text);
    buf_add(&x.sink.text, rest.data, rest.length);
    const char *sent = folding_sent(&x, 2);
    assert_non_null(strstr(sent, POINT("cpu_seconds", "0.2", "02000", "1")));
    assert_non_null(strstr(sent, POINT("memory_rss_bytes", "30", "02000", "1")));
    buf_done(&rest);
    folding_remove(&x);
}

/* The names of MLflow's monitor have another place when the program logs them, too. */
static void test_names_that_are_doubled(void **state)
{
    struct folding x;
    folding_make(&x, 0, NULL);
    assert_string_equal(mlflow_frames_key_of_monitor(&x.frames),
                        "system/cpu_utilization_percentage");
    folding_put(&x, 1000, 100, 5000000, false);
    assert_non_null(strstr(folding_sent(&x, 1), "\"system/process_memory_rss_megabytes\""));
    x.frames.is_doubled = true;
    const char *sent = folding_sent(&x, 1);
    assert_non_null(strstr(sent, "\"system/toll/process_memory_rss_megabytes\""));
    assert_non_null(strstr(sent, "\"system/target_memory_rss_bytes\""));
    folding_remove(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_and_gauges),       cmocka_unit_test(test_samples_make_a_point),
        cmocka_unit_test(test_every_sample_is_a_point), cmocka_unit_test(test_the_rest),
        cmocka_unit_test(test_names_that_are_doubled),
    };
    return RUN("mlflow_frames", tests);
}
