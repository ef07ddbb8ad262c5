/* SPDX-License-Identifier: MIT */
#include "record/write.h"

#include "sample.h"

struct out {
    struct buf b;
    struct json_out j;
};

static struct json_out *begin(struct out *o)
{
    *o = (struct out){0};
    json_begin(&o->j, &o->b, 0);
    json_object(&o->j);
    return &o->j;
}

static void expect(struct out *o, const char *text)
{
    json_object_end(&o->j);
    assert_string_equal(o->b.data, text);
    buf_done(&o->b);
}

static void test_run(void **state)
{
    struct sample s;
    struct out o;
    sample_make(&s, NULL);
    const char *labels[] = {"team=blue", "empty=", "odd==\"", NULL};
    assert_int_equal(run_set_labels(&s.run, labels), 0);
    s.run.interval_ns = 250000000;
    s.run.no_children = true;
    record_json_run(begin(&o), &s.run);
    expect(&o, "{\"toll\":\"" TOLL_VERSION "\",\"name\":\"make\",\"command\":[\"make\",\"-j2\"],"
               "\"labels\":{\"team\":\"blue\",\"empty\":\"\",\"odd\":\"=\\\"\"},\"host\":\"box\","
               "\"kernel\":\"6.1\",\"cpus\":4,\"pid\":100,\"start\":\"2024-11-07T17:20:00.123Z\","
               "\"interval_seconds\":0.25,\"children\":false}");
    sample_remove(&s);
}

#define EMPTY_RUN                                                                                  \
    "{\"toll\":\"" TOLL_VERSION "\",\"name\":\"\",\"command\":[],\"labels\":{},"                   \
    "\"host\":\"\",\"kernel\":\"\",\"cpus\":0,\"pid\":null,"                                       \
    "\"start\":\"1970-01-01T00:00:00.000Z\",\"interval_seconds\":null,\"children\":true,"

/* A run of which nothing is known yet is still valid JSON. */
static void test_empty_run(void **state)
{
    struct run run = {0};
    struct out o;
    record_json_run(begin(&o), &run);
    expect(&o, EMPTY_RUN "\"since_start\":false}");
}

static void test_attached_run(void **state)
{
    struct run run = {.since_start = true};
    struct out o;
    assert_int_equal(run_add_target(&run, "web", "process 7 (nginx)"), 0);
    record_json_run(begin(&o), &run);
    expect(&o, EMPTY_RUN "\"since_start\":true,"
                         "\"attached_to\":[{\"name\":\"web\",\"what\":\"process 7 (nginx)\"}]}");
    run_done(&run);
}

static void test_limits(void **state)
{
    struct limits limits = {0};
    struct out o;
    limits.of[LIMIT_CPUS] = (struct limit){.known = true, .cores = 1.5, .by = "cpu quota"};
    limits.of[LIMIT_CPUS].cgroup = (char[]){"/job"};
    limits.of[LIMIT_SWAP_BYTES] = (struct limit){.known = true, .unlimited = true, .by = "machine"};
    record_json_limits(begin(&o), &limits);
    expect(&o, "{\"limits\":{\"cpus\":{\"value\":1.5,\"unlimited\":false,\"by\":\"cpu quota\","
               "\"cgroup\":\"/job\"},"
               "\"swap_bytes\":{\"value\":null,\"unlimited\":true,\"by\":\"machine\"}}}");
}

static void test_row(void **state)
{
    struct row row;
    struct out o;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, 1);
    row_put_double(&row, process_cpu_cores, 1.5);
    row_put_u64(&row, process_threads_count, 0);
    record_json_row(begin(&o), &row,
                    BIT(process_cpu_seconds) | BIT(process_cpu_cores) | BIT(process_threads_count) |
                        BIT(process_memory_pss_bytes));
    expect(&o, "{\"cpu_seconds\":0.000000001,\"cpu_cores\":1.5,\"memory_pss_bytes\":null,"
               "\"threads\":0}");
    record_json_row(begin(&o), &row, 0);
    expect(&o, "{}");
    row_init(&row, ENTITY_SELF);
    row_put_u64(&row, self_ticks_count, 3);
    record_json_row(begin(&o), &row, BIT(self_ticks_count - self_first));
    expect(&o, "{\"ticks\":3}");
}

static void test_end(void **state)
{
    struct out o;
    json_key(begin(&o), "e");
    record_json_end(&o.j, &(struct toll_end){.ended = true, .status = 7});
    expect(&o, "{\"e\":{\"status\":\"exited\",\"code\":7,\"signal\":null,\"core_dumped\":false,"
               "\"oom_killed\":false,\"timed_out\":false}}");
    json_key(begin(&o), "e");
    record_json_end(&o.j, &(struct toll_end){
                              .ended = true, .signaled = true, .core_dumped = true, .status = 11});
    expect(&o, "{\"e\":{\"status\":\"signaled\",\"code\":null,\"signal\":11,\"core_dumped\":true,"
               "\"oom_killed\":false,\"timed_out\":false}}");
    json_key(begin(&o), "e");
    record_json_end(&o.j, &(struct toll_end){0});
    expect(&o, "{\"e\":{\"status\":\"running\",\"code\":null,\"signal\":null,\"core_dumped\":false,"
               "\"oom_killed\":false,\"timed_out\":false}}");
}

/* Unknown has no figure at all; a known one says how it was obtained. */
static void test_summary(void **state)
{
    struct sample s;
    struct out o;
    sample_make(&s, "target_cpu_seconds,target_memory_pss_bytes");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 3 * NS_PER_SECOND, QUALITY_EXACT);
    summary_note(&s.summary, "a note");
    s.summary.survivors[0] = (struct survivor){
        .pid = 5, .name = "x", .cpu_ns = 1, .rss_bytes = 2, .has_rss = true};
    s.summary.survivors[1] = (struct survivor){.pid = 6, .name = "(hidden)"};
    s.summary.survivor_count = 2;
    record_json_summary(begin(&o), &s.summary, &s.selection);
    json_object_end(&o.j);
    assert_non_null(strstr(o.b.data, "\"wall_seconds\":2,"));
    assert_non_null(strstr(o.b.data,
                           "\"cpu_seconds\":{\"total\":3,\"rate_mean\":1.5,"
                           "\"rate_max\":1.5,\"rate_max_at_seconds\":2,\"quality\":\"exact\","
                           "\"from\":\"test\"}"));
    assert_non_null(
        strstr(o.b.data, "\"memory_pss_bytes\":{\"quality\":\"unknown\",\"from\":\"\"}"));
    assert_non_null(strstr(o.b.data, "\"still_running_count\":2,\"still_running\":[{\"pid\":5,"
                                     "\"name\":\"x\",\"cpu_seconds\":0.000000001,"
                                     "\"memory_rss_bytes\":2},{\"pid\":6,"
                                     "\"name\":\"(hidden)\",\"cpu_seconds\":0,"
                                     "\"memory_rss_bytes\":null}]"));
    assert_non_null(strstr(o.b.data, "\"notes\":[\"a note\"]"));
    buf_done(&o.b);
    sample_remove(&s);
}

/* More than there is room for: the count is true, the list is what was kept. */
static void test_many_survivors_and_notes(void **state)
{
    struct sample s;
    struct out o;
    sample_make(&s, "self_ticks");
    s.summary.survivor_count = 1000;
    for (int i = 0; i < 100; i++) {
        char note[32];
        snprintf(note, sizeof note, "note %d", i);
        summary_note(&s.summary, note);
    }
    record_json_summary(begin(&o), &s.summary, &s.selection);
    json_object_end(&o.j);
    assert_non_null(strstr(o.b.data, "\"still_running_count\":1000"));
    assert_non_null(strstr(o.b.data, "note 15"));
    assert_null(strstr(o.b.data, "note 16"));
    buf_done(&o.b);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),          cmocka_unit_test(test_empty_run),
        cmocka_unit_test(test_attached_run), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_row),          cmocka_unit_test(test_end),
        cmocka_unit_test(test_summary),      cmocka_unit_test(test_many_survivors_and_notes),
    };
    return RUN("record_json", tests);
}
