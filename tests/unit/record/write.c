/* SPDX-License-Identifier: MIT */
#include "record/keys.h"
#include "sample.h"
#include "unit.h"

/* ---- record json ---------------------------------------------------------------------------- */

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

static void record_json_expect(struct out *o, const char *text)
{
    json_object_end(&o->j);
    assert_string_equal(o->b.data, text);
    buf_done(&o->b);
}

static void test_record_json_run(void **state)
{
    struct sample s;
    struct out o;
    sample_make(&s, NULL);
    const char *labels[] = {"team=blue", "empty=", "odd==\"", NULL};
    assert_int_equal(run_set_labels(&s.run, labels), 0);
    s.run.interval_ns = 250000000;
    s.run.no_children = true;
    record_json_run(begin(&o), &s.run);
    record_json_expect(
        &o, "{\"toll\":\"" TOLL_VERSION "\",\"name\":\"make\",\"command\":[\"make\",\"-j2\"],"
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
static void test_record_json_empty_run(void **state)
{
    struct run run = {0};
    struct out o;
    record_json_run(begin(&o), &run);
    record_json_expect(&o, EMPTY_RUN "\"since_start\":false}");
}

static void test_record_json_attached_run(void **state)
{
    struct run run = {.since_start = true};
    struct out o;
    assert_int_equal(run_add_target(&run, "web", "process 7 (nginx)"), 0);
    record_json_run(begin(&o), &run);
    record_json_expect(&o, EMPTY_RUN
                       "\"since_start\":true,"
                       "\"attached_to\":[{\"name\":\"web\",\"what\":\"process 7 (nginx)\"}]}");
    run_done(&run);
}

static void test_record_json_row(void **state)
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
    record_json_expect(&o,
                       "{\"cpu_seconds\":0.000000001,\"cpu_cores\":1.5,\"memory_pss_bytes\":null,"
                       "\"threads\":0}");
    record_json_row(begin(&o), &row, 0);
    record_json_expect(&o, "{}");
    row_init(&row, ENTITY_SELF);
    row_put_u64(&row, self_ticks_count, 3);
    record_json_row(begin(&o), &row, BIT(self_ticks_count - self_first));
    record_json_expect(&o, "{\"ticks\":3}");
}

static void write_end(struct json_out *j, struct toll_end end)
{
    struct record_end e = record_end_of(&end);
    record_write_object(j, RECORD_OBJECT_end, &e, NULL);
}

static void test_record_json_end(void **state)
{
    struct out o;
    json_key(begin(&o), "e");
    write_end(&o.j, (struct toll_end){.ended = true, .status = 7});
    record_json_expect(
        &o, "{\"e\":{\"status\":\"exited\",\"code\":7,\"signal\":null,\"core_dumped\":false,"
            "\"oom_killed\":false,\"timed_out\":false}}");
    json_key(begin(&o), "e");
    write_end(&o.j, (struct toll_end){
                        .ended = true, .signaled = true, .core_dumped = true, .status = 11});
    record_json_expect(
        &o, "{\"e\":{\"status\":\"signaled\",\"code\":null,\"signal\":11,\"core_dumped\":true,"
            "\"oom_killed\":false,\"timed_out\":false}}");
    json_key(begin(&o), "e");
    write_end(&o.j, (struct toll_end){0});
    record_json_expect(
        &o, "{\"e\":{\"status\":\"running\",\"code\":null,\"signal\":null,\"core_dumped\":false,"
            "\"oom_killed\":false,\"timed_out\":false}}");
}

/* Unknown has no figure at all; a known one says how it was obtained. */
static void test_record_json_summary(void **state)
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
static void test_record_json_many_survivors_and_notes(void **state)
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

/* ---- record energy -------------------------------------------------------------------------- */

/* The end of a summary has that text, which is a member with its braces; "{}": it has none. */
static void closing_expect(const struct summary *s, const char *member, const char *text)
{
    struct selection selection = {0};
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    struct record_context c = {.selection = &selection};
    json_object(&j);
    record_write(&j, RECORD_OBJECT_own, s, &c);
    record_write(&j, RECORD_OBJECT_closing, s, &c);
    json_object_end(&j);
    char *found = strstr(b.data, member);
    if (strcmp(text, "{}") == 0)
        assert_null(found);
    else
        assert_memory_equal(found, text + 1, strlen(text) - 2);
    buf_done(&b);
}

static void record_energy_expect(const struct summary *s, const char *text)
{
    closing_expect(s, "\"run_joules\"", text);
}

static void test_record_energy_energy(void **state)
{
    struct instance gpu, package;
    struct series of_gpu[32] = {0}, of_package[2] = {0};
    struct instance_summary instances[] = {{&gpu, of_gpu}, {&package, of_package}};
    struct summary s = {.instances = instances, .instance_count = 0};
    record_energy_expect(&s, "{}");
    instance_init(&gpu, ENTITY_GPU);
    instance_init(&package, ENTITY_RAPL);
    memcpy(package.entity.name, "package-0", 10);
    s.instance_count = 2;
    record_energy_expect(&s, "{\"run_joules\":{\"gpu\":null,\"processor\":null,\"total\":null,"
                             "\"quality\":\"unknown\"}}");
    series_put(&of_gpu[gpu_energy_joules - gpu_first], metric_of(gpu_energy_joules),
               (union value){.u = 1234567}, NS_PER_SECOND);
    record_energy_expect(&s, "{\"run_joules\":{\"gpu\":1.234567,\"processor\":null,\"total\":null,"
                             "\"quality\":\"exact\"}}");
    series_put(&of_package[0], metric_of(rapl_energy_joules), (union value){.u = 2000000},
               NS_PER_SECOND);
    record_energy_expect(&s, "{\"run_joules\":{\"gpu\":1.234567,\"processor\":2,\"total\":3.234567,"
                             "\"quality\":\"exact\"}}");
    of_gpu[gpu_energy_joules - gpu_first].coverage = COVERED_PARTLY;
    record_energy_expect(&s, "{\"run_joules\":{\"gpu\":1.234567,\"processor\":2,\"total\":3.234567,"
                             "\"quality\":\"lower bound\"}}");
    of_gpu[gpu_energy_joules - gpu_first].last.u = 0; /* at least nothing */
    record_energy_expect(&s, "{\"run_joules\":{\"gpu\":null,\"processor\":2,\"total\":null,"
                             "\"quality\":\"unknown\"}}");
}

/* ---- record limits -------------------------------------------------------------------------- */

static void record_limits_expect(const struct limits *l, const char *text)
{
    static struct target_summary t;
    struct buf b = {0};
    struct json_out j;
    t.limits = *l;
    json_begin(&j, &b, 0);
    record_write_object(&j, RECORD_OBJECT_limited, &t, NULL);
    assert_string_equal(b.data, text);
    buf_done(&b);
}

/* What is not known is left out; that there is none is known. */
static void test_record_limits_limits(void **state)
{
    struct limits l = {0};
    record_limits_expect(&l, "{\"limits\":{}}");
    l.of[LIMIT_CPUS] = (struct limit){.known = true, .cores = 1.5, .by = "cpu quota"};
    l.of[LIMIT_CPUS].cgroup = strdupa("/box \"1\"");
    l.of[LIMIT_TASKS] = (struct limit){.known = true, .unlimited = true};
    l.of[LIMIT_OPEN_FILES] = (struct limit){.known = true, .value = 0, .by = "resource limit"};
    l.of[LIMIT_LOCKED_BYTES] = (struct limit){
        .known = true, .value = UINT64_MAX - 1, .by = "resource limit"};
    record_limits_expect(
        &l, "{\"limits\":{"
            "\"cpus\":{\"value\":1.5,\"unlimited\":false,\"by\":\"cpu quota\","
            "\"cgroup\":\"/box \\\"1\\\"\"},"
            "\"tasks\":{\"value\":null,\"unlimited\":true,\"by\":\"\"},"
            "\"open_files\":{\"value\":0,\"unlimited\":false,\"by\":\"resource limit\"},"
            "\"locked_memory_bytes\":{\"value\":18446744073709551614,\"unlimited\":false,"
            "\"by\":\"resource limit\"}}}");
}

/* Reached only with a proof; what was used may be a lower bound. */
static void test_record_limits_use(void **state)
{
    struct limits l = {0};
    l.of[LIMIT_MEMORY_BYTES] = (struct limit){.known = true,
                                              .value = 64,
                                              .by = "memory limit",
                                              .has_used = true,
                                              .used = 64,
                                              .whose = "cgroup",
                                              .reached = "OOM killer"};
    l.of[LIMIT_TASKS] = (struct limit){.known = true,
                                       .value = 4,
                                       .by = "task limit",
                                       .has_used = true,
                                       .used_is_least = true,
                                       .used = 3,
                                       .whose = "cgroup",
                                       .reached = "counted by the kernel",
                                       .reached_times = 2};
    record_limits_expect(
        &l, "{\"limits\":{"
            "\"memory_bytes\":{\"value\":64,\"unlimited\":false,\"by\":\"memory limit\","
            "\"used\":64,\"used_at_least\":false,\"used_by\":\"cgroup\","
            "\"reached\":\"OOM killer\"},"
            "\"tasks\":{\"value\":4,\"unlimited\":false,\"by\":\"task limit\",\"used\":3,"
            "\"used_at_least\":true,\"used_by\":\"cgroup\","
            "\"reached\":\"counted by the kernel\",\"reached_count\":2}}}");
}

/* Every kind has a name of its own. */
static void test_record_limits_every_limit(void **state)
{
    static struct target_summary t;
    for (unsigned i = 0; i < LIMITS; i++)
        t.limits.of[i] = (struct limit){.known = true, .unlimited = true, .by = "x"};
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    record_write_object(&j, RECORD_OBJECT_limited, &t, NULL);
    unsigned count = 0;
    for (const char *at = b.data; (at = strstr(at, "\":{\"value\":null")); at++)
        count++;
    assert_int_equal(count, LIMITS);
    assert_null(strstr(b.data, "\"\""));
    buf_done(&b);
}

/* ---- record marks --------------------------------------------------------------------------- */

static void look(struct phase_figures *f, uint64_t at_ns, uint64_t cpu_ns, uint64_t rss)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    row_put_u64(&row, process_memory_rss_bytes, rss);
    phase_figures_look(f, &row, at_ns, at_ns);
}

static void test_record_marks_lines(void **state)
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
    struct run_mark m = {.kind = MARK_PHASE_END,
                         .name = p.name,
                         .pid = 7,
                         .elapsed_ns = 1500000000,
                         .start_ns = 1000000000,
                         .attributes = scan_string("k=a%20b"),
                         .phase = &p};
    assert_int_equal(sink_mark(sink, &m), 0);
    m = (struct run_mark){.kind = MARK_GAUGE, .name = "loss", .pid = 7, .value = -1e-12};
    assert_int_equal(sink_mark(sink, &m), 0);
    m = (struct run_mark){
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

static void test_record_marks_totals(void **state)
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
    record_write_object(&j, RECORD_OBJECT_marks, t,
                        &(struct record_context){.selection = &s.selection});
    assert_non_null(strstr(
        b.data, "\"phases\":[{\"name\":\"a\",\"count\":1,\"not_ended_count\":0,"
                "\"measured_count\":1,\"of_several_processes\":false,\"of\":\"process\","
                "\"total_seconds\":1,\"min_seconds\":1,\"mean_seconds\":1,\"max_seconds\":1,"
                "\"figures\":{\"cpu_seconds\":{\"total\":0.25,\"quality\":\"sampled\"}}}],"
                "\"gauges\":[{\"name\":\"g\",\"count\":1,\"last\":1.5,\"min\":1.5,\"mean\":1.5,"
                "\"max\":1.5,\"max_at_seconds\":2}],\"events\":1,\"marks\":{\"taken\":3,"
                "\"ignored\":0,\"lost\":0,\"left_out\":0,\"unmatched\":0}}"));
    buf_done(&b);
    sample_remove(&s);
}

/* ---- record outputs ------------------------------------------------------------------------- */

static void test_record_outputs_members(void **state)
{
    struct output_summary o = {.name = "x http://h",
                               .format = "x",
                               .samples = 9,
                               .delivered = 5,
                               .kept = 1,
                               .dropped = 3,
                               .retries = 2,
                               .way = OUTPUT_SCRAPED,
                               .bytes = 70,
                               .scrapes = 4,
                               .why = "away"};
    struct summary s = {.outputs = &o, .output_count = 1};
    closing_expect(&s, "\"outputs\"",
                   "{\"outputs\":[{\"name\":\"x http://h\",\"format\":\"x\","
                   "\"way\":\"scraped\",\"samples\":9,\"delivered\":5,\"kept\":1,"
                   "\"dropped\":3,\"retries\":2,\"bytes\":null,\"scrapes\":4,"
                   "\"complete\":false,\"failure\":\"away\"}]}");
    o = (struct output_summary){.name = "y", .format = "csv", .bytes = 70, .has_bytes = true};
    closing_expect(&s, "\"outputs\"",
                   "{\"outputs\":[{\"name\":\"y\",\"format\":\"csv\",\"way\":\"file\","
                   "\"samples\":0,\"delivered\":0,\"kept\":0,\"dropped\":0,\"retries\":0,"
                   "\"bytes\":70,\"complete\":false,\"failure\":null}]}");
    s.output_count = 0; /* nothing was sent anywhere */
    closing_expect(&s, "\"outputs\"", "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_json_run),
        cmocka_unit_test(test_record_json_empty_run),
        cmocka_unit_test(test_record_json_attached_run),
        cmocka_unit_test(test_record_json_row),
        cmocka_unit_test(test_record_json_end),
        cmocka_unit_test(test_record_json_summary),
        cmocka_unit_test(test_record_json_many_survivors_and_notes),
        cmocka_unit_test(test_record_energy_energy),
        cmocka_unit_test(test_record_limits_limits),
        cmocka_unit_test(test_record_limits_use),
        cmocka_unit_test(test_record_limits_every_limit),
        cmocka_unit_test(test_record_marks_lines),
        cmocka_unit_test(test_record_marks_totals),
        cmocka_unit_test(test_record_outputs_members),
    };
    return RUN("record/write", tests);
}
