/* SPDX-License-Identifier: MIT */
#include "sample.h"
#include "sink/mlflow/mlflow.h"
#include "sink/sink.h"
#include "sink/spool.h"
#include "unit.h"

#include <math.h>

/* ---- mlflow facts --------------------------------------------------------------------------- */

static char program[] = "/usr/bin/train", argument[] = "--key=hunter2",
            mlflow_facts_name[] = "train";

static char *command[] = {program, argument, NULL};

static void test_mlflow_facts_the_run(void **state)
{
    struct sample s;
    struct buf b = {0};
    sample_make(&s, NULL);
    struct run run = s.run;
    run.command = command;
    run.name = mlflow_facts_name;
    struct mlflow_facts f = {.node = "", .id = "0123"};
    mlflow_facts_create(&b, &f, &run);
    assert_int_equal(strncmp(b.data, "{\"run_name\":\"train\",\"start_time\":", 33), 0);
    assert_non_null(strstr(b.data, "{\"key\":\"mlflow.source.name\",\"value\":\"train\"}"));
    assert_non_null(strstr(b.data, "{\"key\":\"toll.output_id\",\"value\":\"0123\"}"));
    buf_clear(&b);
    mlflow_facts_begin(&b, &f, &run);
    assert_non_null(strstr(b.data, "\"toll.version\""));
    assert_null(strstr(b.data, "hunter2"));
    buf_clear(&b);
    f.with_command = true;
    mlflow_facts_begin(&b, &f, &run);
    assert_non_null(strstr(b.data, "\"/usr/bin/train --key=hunter2\""));
    assert_null(strstr(b.data, "rank"));
    run.parallel = (struct parallel){"3", "1", "8", "Open MPI", "777"};
    run.job = (struct batch_job){"90", "7"};
    buf_clear(&b);
    mlflow_facts_begin(&b, &f, &run);
    static const char *const place[][2] = {
        {"rank", "3"},    {"local_rank", "1"},  {"world_size", "8"},     {"launch", "777"},
        {"job_id", "90"}, {"array_index", "7"}, {"launcher", "Open MPI"}};
    for (size_t i = 0; i < ARRAY_LEN(place); i++) {
        char tag[80];
        snprintf(tag, sizeof tag, "{\"key\":\"toll.%s\",\"value\":\"%s\"}", place[i][0],
                 place[i][1]);
        assert_non_null(strstr(b.data, tag));
    }
    buf_done(&b);
    sample_remove(&s);
}

/* The program's name without the directories of somebody's home, and no longer than there is room.
 */
static void test_mlflow_facts_the_name(void **state)
{
    struct sample s;
    struct buf b = {0};
    char long_name[400];
    sample_make(&s, NULL);
    struct run run = s.run;
    run.command = command;
    run.name = NULL;
    struct mlflow_facts f = {.node = "", .id = "0123"};
    mlflow_facts_create(&b, &f, &run);
    assert_int_equal(strncmp(b.data, "{\"run_name\":\"train\",", 20), 0);
    assert_null(strstr(b.data, "/usr/bin"));
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    f.run_name = long_name;
    buf_clear(&b);
    mlflow_facts_create(&b, &f, &run);
    const char *tag = strstr(b.data, "runName");
    assert_int_equal(strspn(strstr(b.data, "nnn"), "n"), 250);
    assert_int_equal(strspn(strstr(tag, "nnn"), "n"), 250); /* they have to be the same */
    buf_done(&b);
    sample_remove(&s);
}

/* No request has more than a million bytes, whatever labels say. */
static void test_mlflow_facts_many_large_tags(void **state)
{
    enum { LABELS = 99, LENGTH = 5000 };
    struct sample s;
    struct buf b = {0};
    struct spool_op op;
    char *labels[LABELS + 1] = {0};
    unsigned requests = 0, tags = 0;
    sample_make(&s, NULL);
    struct run run = s.run;
    run.labels = labels;
    for (unsigned i = 0; i < LABELS; i++) {
        labels[i] = calloc(1, LENGTH + 10);
        int n = snprintf(labels[i], 10, "k%u=", i);
        memset(labels[i] + n, 1, LENGTH); /* six letters each in JSON */
    }
    mlflow_facts_begin(&b, &(struct mlflow_facts){.node = "", .id = "0"}, &run);
    for (struct scan text = scan_text(b.data, b.length); spool_op_next(&text, &op) > 0;) {
        assert_true(op.body.end - op.body.at < 1000000 - 100);
        for (const char *c = op.body.at; (c = memmem(c, op.body.end - c, "\"key\":", 6)); c++)
            tags++;
        requests++;
    }
    assert_int_equal(tags, LABELS + 2);
    assert_int_equal(requests, 4);
    for (unsigned i = 0; i < LABELS; i++)
        free(labels[i]);
    buf_done(&b);
    sample_remove(&s);
}

/* Its blanks would end the name of an operation. */
static void test_mlflow_facts_a_node_with_a_blank(void **state)
{
    struct sample s;
    struct buf b = {0};
    struct spool_op op;
    unsigned artifacts = 0, updates = 0;
    sample_make(&s, NULL);
    struct mlflow_facts f = {
        .node = "my node:1/", .id = "0", .with_artifact = true, .ends_run = true};
    mlflow_facts_end(&b, &f, &s.summary, &s.selection);
    struct scan text = scan_text(b.data, b.length);
    int r;
    while ((r = spool_op_next(&text, &op)) > 0) {
        artifacts += op.kind == SPOOL_ARTIFACT;
        updates += op.kind == SPOOL_UPDATE;
    }
    assert_int_equal(r, 0);
    assert_int_equal(artifacts, 1);
    assert_int_equal(updates, 1);
    assert_non_null(strstr(b.data, "artifact toll/my%20node%3A1/summary.json "));
    assert_non_null(strstr(b.data, "\"toll/my node:1/run_seconds\""));
    buf_done(&b);
    sample_remove(&s);
}

static void expect_end(struct sample *s, struct toll_end end, const char *status, const char *tag)
{
    struct buf b = {0};
    struct mlflow_facts f = {.node = "", .id = "0", .with_artifact = true, .ends_run = true};
    struct run run = s->run;
    run.command = command;
    s->summary.run = &run;
    s->summary.whole.end = end;
    mlflow_facts_end(&b, &f, &s->summary, &s->selection);
    assert_false(buf_failed(&b));
    assert_non_null(strstr(b.data, status));
    assert_true(!tag || strstr(b.data, tag));
    assert_non_null(strstr(b.data, "artifact toll/summary.json "));
    assert_non_null(strstr(b.data, "\"key\":\"toll/run_seconds\""));
    assert_null(strstr(b.data, "hunter2"));
    buf_clear(&b);
    f.ends_run = f.with_artifact = false;
    mlflow_facts_end(&b, &f, &s->summary, &s->selection);
    assert_null(strstr(b.data, "status"));
    assert_null(strstr(b.data, "artifact "));
    buf_done(&b);
    s->summary.run = &s->run;
}

static void test_mlflow_facts_the_end(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    expect_end(&s, (struct toll_end){.ended = true}, "\"FINISHED\"",
               "{\"key\":\"toll.exit_code\",\"value\":\"0\"}");
    expect_end(&s, (struct toll_end){.ended = true, .status = 2}, "\"FAILED\"", "\"2\"");
    expect_end(&s, (struct toll_end){.ended = true, .signaled = true, .status = 9}, "\"KILLED\"",
               "{\"key\":\"toll.exit_signal\",\"value\":\"SIGKILL\"}");
    expect_end(&s, (struct toll_end){.ended = true, .timed_out = true, .status = 1}, "\"KILLED\"",
               "toll.timed_out");
    expect_end(&s, (struct toll_end){.ended = false}, "\"FINISHED\"", NULL);
    struct buf b = {0};
    mlflow_facts_nothing_ran(&b);
    assert_non_null(strstr(b.data, "{\"status\":\"FAILED\",\"end_time\":"));
    buf_done(&b);
    sample_remove(&s);
}

/* ---- mlflow frames -------------------------------------------------------------------------- */

static void test_mlflow_frames_frames_and_gauges(void **state)
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
    struct run_mark mark = {.kind = MARK_GAUGE, .name = "loss", .value = 0.5};
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
static void test_mlflow_frames_samples_make_a_point(void **state)
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
static void test_mlflow_frames_every_sample_is_a_point(void **state)
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
static void test_mlflow_frames_the_rest(void **state)
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
static void test_mlflow_frames_names_that_are_doubled(void **state)
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

/* ---- mlflow metrics ------------------------------------------------------------------------- */

static void test_mlflow_metrics_values_that_are_no_numbers(void **state)
{
    struct buf ops = {0};
    struct mlflow_metrics m = {.ops = &ops};
    mlflow_metrics_add(&m, "a", (double)NAN, 5, 1);
    mlflow_metrics_add(&m, "b", -(double)INFINITY, 6, 2);
    mlflow_metrics_add(&m, "c", 0.1, 7, 3);
    mlflow_metrics_end(&m);
    assert_non_null(strstr(
        ops.data, "{\"metrics\":[{\"key\":\"a\",\"value\":\"NaN\",\"timestamp\":5,\"step\":1},"
                  "{\"key\":\"b\",\"value\":\"-Infinity\",\"timestamp\":6,\"step\":2},"
                  "{\"key\":\"c\",\"value\":0.1,\"timestamp\":7,\"step\":3}]}\n"));
    buf_done(&ops);
}

static void test_mlflow_metrics_a_thousand_at_most(void **state)
{
    struct buf ops = {0};
    struct mlflow_metrics m = {.ops = &ops};
    struct spool_op op;
    for (unsigned i = 0; i < 2001; i++)
        mlflow_metrics_add(&m, "key", i, 1, i);
    mlflow_metrics_end(&m);
    struct scan text = scan_text(ops.data, ops.length);
    unsigned requests = 0;
    while (spool_op_next(&text, &op) > 0) {
        unsigned metrics = 0;
        for (const char *c = op.body.at; c < op.body.end; c++)
            metrics += *c == '}';
        assert_int_equal(metrics, (requests++ < 2 ? 1000 : 1) + 1);
    }
    assert_int_equal(requests, 3);
    buf_done(&ops);
}

/* ---- mlflow key ----------------------------------------------------------------------------- */

static void expect(const char *name, const char *key)
{
    struct buf b = {0};
    buf_puts(&b, "<");
    mlflow_key(&b, name);
    assert_false(buf_failed(&b));
    assert_string_equal(b.data + 1, key);
    buf_done(&b);
}

static void test_mlflow_key_letters(void **state)
{
    expect("system/target_cpu_seconds", "system/target_cpu_seconds");
    expect("a b:c-d.e/F_1", "a b:c-d.e/F_1");
    expect("loss,%\n\xc3\xa4", "loss_____");
    expect("a//b/", "a/b");
    expect("/a", "a");
    expect("a/./b/../c", "a/_/b/__/c");
    expect("1..2", "1__2");
    expect("...", "___");
    expect("", "_");
    expect("///", "_");
}

static void test_mlflow_key_parts(void **state)
{
    struct buf b = {0};
    mlflow_key_part(&b, "/home");
    mlflow_key_part(&b, "");
    mlflow_key_part(&b, "..");
    assert_string_equal(b.data, "_home___");
    buf_done(&b);
}

static void test_mlflow_key_long_names_stay_apart(void **state)
{
    char name[400];
    struct buf a = {0}, b = {0};
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    mlflow_key(&a, name);
    name[398] = 'y';
    mlflow_key(&b, name);
    assert_int_equal(a.length, MLFLOW_KEY_BYTES);
    assert_int_equal(b.length, MLFLOW_KEY_BYTES);
    assert_string_not_equal(a.data, b.data);
    buf_clear(&a);
    for (size_t i = 0; i < sizeof name - 1; i += 2)
        name[i] = '/';
    mlflow_key(&a, name);
    assert_true(a.length <= MLFLOW_KEY_BYTES && !strstr(a.data, "//") && !strstr(a.data, "/-"));
    name[MLFLOW_KEY_BYTES] = '\0';
    memset(name, 'z', MLFLOW_KEY_BYTES);
    expect(name, name);
    buf_done(&a);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlflow_facts_the_run),
        cmocka_unit_test(test_mlflow_facts_the_name),
        cmocka_unit_test(test_mlflow_facts_many_large_tags),
        cmocka_unit_test(test_mlflow_facts_a_node_with_a_blank),
        cmocka_unit_test(test_mlflow_facts_the_end),
        cmocka_unit_test(test_mlflow_frames_frames_and_gauges),
        cmocka_unit_test(test_mlflow_frames_samples_make_a_point),
        cmocka_unit_test(test_mlflow_frames_every_sample_is_a_point),
        cmocka_unit_test(test_mlflow_frames_the_rest),
        cmocka_unit_test(test_mlflow_frames_names_that_are_doubled),
        cmocka_unit_test(test_mlflow_metrics_values_that_are_no_numbers),
        cmocka_unit_test(test_mlflow_metrics_a_thousand_at_most),
        cmocka_unit_test(test_mlflow_key_letters),
        cmocka_unit_test(test_mlflow_key_parts),
        cmocka_unit_test(test_mlflow_key_long_names_stay_apart),
    };
    return RUN("sink/mlflow_values", tests);
}
