/* SPDX-License-Identifier: MIT */
#include "sink/report/report.h"
#include "sample.h"

#include <stdio.h>
#include <sys/stat.h>

/* ---- traces ---------------------------------------------------------------------------------- */

static void test_trace_keeps_every_peak_however_long_the_run(void **state)
{
    struct trace t = {0};
    for (unsigned i = 0; i < 100000; i++) {
        double value = i == 61803 ? 7 : i % 2 ? 1 : 0;
        assert_true(trace_add(&t, value, i * NS_PER_SECOND, (i + 1) * NS_PER_SECOND));
    }
    assert_true(trace_length(&t) <= TRACE_COLUMNS);
    assert_true(trace_length(&t) > TRACE_COLUMNS / 2);
    double max = 0, seconds = 0, sum = 0;
    for (unsigned i = 0; i < trace_length(&t); i++) {
        max = t.columns[i].max > max ? t.columns[i].max : max;
        seconds += (double)t.columns[i].covered_ns / 1e9;
        sum += t.columns[i].sum;
    }
    assert_true(max == 7 && t.max == 7);
    assert_int_equal(t.max_at_ns, 61804 * NS_PER_SECOND);
    assert_true(seconds > 99999.9 && seconds < 100000.1);
    assert_true(sum > 50005.9 && sum < 50006.1);
    trace_done(&t);
}

static void test_trace_has_gaps_where_nothing_is_known(void **state)
{
    struct trace t = {0};
    trace_add(&t, 5, 0, NS_PER_MS);
    trace_add(&t, 9, 10 * NS_PER_MS, 11 * NS_PER_MS);
    trace_add(&t, 3, 5, 5); /* no time: no value */
    assert_int_equal(trace_length(&t), 11);
    assert_int_equal(t.columns[5].covered_ns, 0);
    assert_true(t.columns[0].min == 5 && t.columns[10].max == 9);
    trace_done(&t);
}

static void test_trace_has_every_value_until_they_are_too_many(void **state)
{
    struct trace t = {0};
    for (uint64_t i = 0; i < TRACE_POINTS; i++)
        trace_add(&t, (double)i, i * NS_PER_MS, (i + 1) * NS_PER_MS);
    assert_int_equal(t.point_count, TRACE_POINTS);
    assert_int_equal(t.point_values, 1);
    assert_true(t.points[77].of.min == 77 && t.points[77].of.max == 77);
    trace_add(&t, 1, TRACE_POINTS * NS_PER_MS, (TRACE_POINTS + 1) * NS_PER_MS);
    assert_int_equal(t.point_count, TRACE_POINTS / 2 + 1);
    assert_int_equal(t.point_values, 2);
    assert_true(t.points[77].of.min == 154 && t.points[77].of.max == 155);
    assert_int_equal(t.points[77].until_ns, 156 * NS_PER_MS);
    assert_true(t.points[TRACE_POINTS / 2].of.max == 1);
    for (uint64_t i = TRACE_POINTS + 1; i < 86400; i++)
        trace_add(&t, i == 70000 ? 1e9 : 1, i * NS_PER_MS, (i + 1) * NS_PER_MS);
    assert_int_equal(t.point_values, 16);
    assert_int_equal(t.point_count, 5400);
    assert_true(t.points[70000 / 16].of.max == 1e9 && t.points[70000 / 16].of.min == 1);
    assert_true(t.points[70000 / 16 + 1].of.max == 1);
    trace_done(&t);
}

static void test_slope_of_a_line_and_of_noise(void **state)
{
    struct trace line = {0}, noise = {0};
    double slope, fit;
    for (unsigned i = 0; i < 600; i++) {
        trace_add(&line, 1e9 + 1e6 * i, i * NS_PER_SECOND, (i + 1) * NS_PER_SECOND);
        trace_add(&noise, i % 7 * 1e6, i * NS_PER_SECOND, (i + 1) * NS_PER_SECOND);
    }
    assert_true(trace_slope(&line, 0, line.end_ns, &slope, &fit));
    assert_true(slope > 0.99e6 && slope < 1.01e6 && fit > 0.999);
    assert_true(trace_slope(&noise, 0, noise.end_ns, &slope, &fit));
    assert_true(fit < 0.1);
    struct trace few = {0};
    trace_add(&few, 1, 0, NS_PER_MS);
    assert_false(trace_slope(&few, 0, few.end_ns, &slope, &fit));
    trace_done(&line);
    trace_done(&noise);
    trace_done(&few);
}

/* ---- findings -------------------------------------------------------------------------------- */

struct case_of {
    struct sample s;
    struct report *r;
};

static void case_make(struct case_of *c)
{
    sample_make(&c->s, NULL);
    struct summary *s = &c->s.summary;
    memset(s->whole.series, 0, sizeof s->whole.series);
    memset(s->whole.provenance, 0, sizeof s->whole.provenance);
    for (unsigned i = 0; i < LIMITS; i++)
        free(s->whole.limits.of[i].cgroup);
    memset(&s->whole.limits, 0, sizeof s->whole.limits);
    free(s->largest);
    s->largest = NULL;
    s->whole.end = (struct toll_end){.ended = true};
    s->elapsed_ns = 100 * NS_PER_SECOND;
    c->r = report_new();
    assert_non_null(c->r);
    c->r->summary = s;
    c->r->selection = &c->s.selection;
    c->r->frames = 100;
}

static void case_remove(struct case_of *c)
{
    report_free(c->r);
    sample_remove(&c->s);
}

/* A figure of the whole target: the total of a counter, the peak of a gauge. */
static void case_put(struct case_of *c, enum metric_id id, double value)
{
    struct series *s = &c->s.summary.whole.series[PART_COMBINED][id];
    const struct metric *m = metric_of(id);
    s->count = s->observed_ns = 1;
    if (metric_is_double(m))
        s->last.d = value;
    else
        s->last.u = (uint64_t)(m->unit == UNIT_seconds ? value * 1e9 : value);
    s->max = value;
    c->s.summary.whole.provenance[PART_COMBINED][id].quality = QUALITY_SAMPLED;
}

static void case_allow(struct case_of *c, enum limit_kind kind, double value, const char *by)
{
    struct limit *l = &c->s.summary.whole.limits.of[kind];
    *l = (struct limit){.known = true, .value = (uint64_t)value, .cores = value, .by = by};
}

static bool has_finding(struct case_of *c, const char *key)
{
    struct report_findings f;
    bool found = false;
    report_find(c->r, &f);
    for (unsigned i = 0; i < f.count; i++) {
        found |= strcmp(f.items[i].key, key) == 0;
        assert_true(f.items[i].sentence.length > 0 && f.items[i].evidence.length > 0);
        assert_true(i == 0 || f.items[i - 1].weight >= f.items[i].weight ||
                    strcmp(f.items[i].key, "too-short") == 0);
    }
    report_findings_done(&f);
    return found;
}

static int weight_of(struct case_of *c, const char *key)
{
    struct report_findings f;
    int weight = -1;
    report_find(c->r, &f);
    for (unsigned i = 0; i < f.count; i++)
        if (strcmp(f.items[i].key, key) == 0)
            weight = (int)f.items[i].weight;
    report_findings_done(&f);
    return weight;
}

/* Figures of one cgroup or device, the only one. */
static struct series *case_instance(struct case_of *c, struct instance *m, enum entity_kind kind,
                                    const char *name)
{
    struct summary *s = &c->s.summary;
    instance_init(m, kind);
    m->number = 1;
    snprintf(m->entity.name, sizeof m->entity.name, "%s", name);
    s->instances = calloc(1, sizeof *s->instances);
    s->instance_count = 1;
    s->instances[0] = (struct instance_summary){
        .instance = m, .series = calloc(metric_count(kind), sizeof(struct series))};
    assert_non_null(s->instances[0].series);
    return s->instances[0].series;
}

/* A counter of seconds of a cgroup. */
static void case_count(struct series *of_cgroup, enum metric_id id, double seconds)
{
    struct series *s = &of_cgroup[id - cgroup_first];
    s->observed_ns = 1;
    s->last.u = (uint64_t)(seconds * 1e9);
}

static void test_findings_serial_and_idle(void **state)
{
    struct case_of c;
    case_make(&c);
    case_allow(&c, LIMIT_CPUS, 4, "machine");
    case_put(&c, process_cpu_seconds, 95);
    case_put(&c, process_cpu_cores, 1.01);
    assert_true(has_finding(&c, "serial"));
    case_put(&c, process_cpu_cores, 2.5); /* two at a time now and then */
    assert_false(has_finding(&c, "serial"));
    assert_true(has_finding(&c, "cores-idle"));
    case_put(&c, process_cpu_seconds, 320);
    assert_false(has_finding(&c, "cores-idle"));
    case_allow(&c, LIMIT_CPUS, 1, "machine");
    case_put(&c, process_cpu_seconds, 20);
    assert_false(has_finding(&c, "cores-idle")); /* there is no other core */
    case_allow(&c, LIMIT_CPUS, 4, "machine");
    c.s.summary.whole.provenance[PART_COMBINED][process_cpu_seconds].quality = QUALITY_LOWER_BOUND;
    assert_false(has_finding(&c, "cores-idle")); /* it may have used more */
    case_remove(&c);
}

static void test_findings_do_not_contradict_each_other(void **state)
{
    struct case_of c;
    struct instance cgroup;
    case_make(&c);
    case_allow(&c, LIMIT_CPUS, 4, "cpu quota");
    case_put(&c, process_cpu_seconds, 95);
    case_put(&c, process_cpu_cores, 1.01);
    assert_true(has_finding(&c, "serial"));
    case_put(&c, process_cpu_wait_seconds, 50); /* it could not use more cores */
    assert_true(has_finding(&c, "waiting-for-cpu"));
    assert_false(has_finding(&c, "serial") || has_finding(&c, "cores-idle"));
    struct series *s = case_instance(&c, &cgroup, ENTITY_CGROUP, "/job");
    struct limit *l = &c.s.summary.whole.limits.of[LIMIT_CPUS];
    l->reached = "CPU throttled";
    case_count(s, cgroup_cpu_throttled_seconds, 5);
    assert_true(has_finding(&c, "cpu-throttled")); /* for which it waited */
    assert_false(has_finding(&c, "waiting-for-cpu") || has_finding(&c, "limit-hit"));
    assert_false(has_finding(&c, "serial") || has_finding(&c, "cores-idle"));
    case_count(s, cgroup_cpu_throttled_seconds, 4.9);
    assert_false(has_finding(&c, "cpu-throttled") || has_finding(&c, "limit-hit"));
    case_remove(&c);
}

static void test_findings_disk(void **state)
{
    struct case_of c;
    struct instance cgroup;
    case_make(&c);
    struct series *s = case_instance(&c, &cgroup, ENTITY_CGROUP, "/job");
    case_count(s, cgroup_io_pressure_some_seconds, 10);
    assert_true(has_finding(&c, "waiting-for-disk"));
    case_count(s, cgroup_io_pressure_some_seconds, 9.9);
    assert_false(has_finding(&c, "waiting-for-disk"));
    case_remove(&c);
}

/* The page cache fills a limit in time: that is no want of memory. */
static void test_findings_page_cache(void **state)
{
    struct case_of c;
    struct instance cgroup;
    case_make(&c);
    struct series *anon = case_instance(&c, &cgroup, ENTITY_CGROUP, "/job") +
                          (cgroup_memory_anon_bytes - cgroup_first);
    struct limit *l = &c.s.summary.whole.limits.of[LIMIT_MEMORY_BYTES];
    case_allow(&c, LIMIT_MEMORY_BYTES, 1000e6, "memory limit");
    l->cgroup = strdup("/job");
    l->has_used = true;
    l->used = 1000e6;
    l->whose = "cgroup";
    assert_true(has_finding(&c, "memory-near-limit")); /* it is not known how much is cache */
    anon->observed_ns = 1;
    anon->max = 899e6;
    assert_false(has_finding(&c, "memory-near-limit"));
    l->reached = "counted by the kernel";
    assert_int_equal(weight_of(&c, "limit-hit"), FINDING_NOTE);
    anon->max = 900e6;
    assert_int_equal(weight_of(&c, "limit-hit"), FINDING_PROBLEM);
    l->reached = NULL;
    assert_true(has_finding(&c, "memory-near-limit"));
    c.r->frames = 3; /* the kernel keeps the peak */
    assert_true(has_finding(&c, "memory-near-limit"));
    l->used_is_least = true;
    assert_false(has_finding(&c, "memory-near-limit"));
    free(l->cgroup);
    case_remove(&c);
}

/* A GPU that is so busy in a hundred samples, while the job uses so many cores, in the first part
 * of them and in the rest. */
static void case_gpu(struct case_of *c, struct instance *gpu, unsigned part, double busy,
                     double cores, double busy_then, double cores_then)
{
    struct series *s = case_instance(c, gpu, ENTITY_GPU, "nvidia0");
    struct row row;
    row_init(&row, ENTITY_TARGET);
    struct instance *machine[] = {gpu};
    struct frame f = {.interval_ns = NS_PER_SECOND,
                      .target = {{NULL, &row}},
                      .machine = machine,
                      .machine_count = 1};
    row_init(&gpu->row, ENTITY_GPU);
    for (unsigned i = 1; i <= 100; i++) {
        double now = i <= part ? busy : busy_then;
        f.elapsed_ns = i * NS_PER_SECOND;
        row_put_double(&row, process_cpu_cores, i <= part ? cores : cores_then);
        row_put_double(&gpu->row, gpu_utilization_ratio, now);
        series_put(&s[gpu_utilization_ratio - gpu_first], metric_of(gpu_utilization_ratio),
                   (union value){.d = now}, f.elapsed_ns);
        report_add_frame(c->r, &f);
    }
}

static void test_findings_gpus(void **state)
{
    static const struct {
        unsigned part;
        double busy, cores, busy_then, cores_then;
        const char *key;
    } cases[] = {
        {50, 0, 0.1, 0, 0.1, "gpu-unused"},
        {50, 0.009, 3, 0.009, 3, "gpu-unused"},
        {50, 0.29, 0.1, 0.29, 0.1, "gpu-idle"},
        {50, 0.3, 0.1, 0.3, 0.1, NULL},
        {50, 0.9, 1, 0.9, 1, NULL},
        {50, 0.1, 1, 0.1, 1, "gpu-starved"},
        {50, 0.1, 0.8, 0.1, 0.8, "gpu-idle"}, /* the CPU was idle too */
        {26, 0.1, 4, 0.95, 4, "gpu-starved"}, /* hidden in the mean, which is 73 % */
        {24, 0.1, 4, 0.95, 4, NULL},
        {50, 0.95, 4, 0.2, 0.1, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        static const char *const kinds[] = {"gpu-unused", "gpu-idle", "gpu-starved"};
        struct case_of c;
        struct instance gpu;
        case_make(&c);
        case_gpu(&c, &gpu, cases[i].part, cases[i].busy, cases[i].cores, cases[i].busy_then,
                 cases[i].cores_then);
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
            assert_int_equal(has_finding(&c, kinds[k]),
                             cases[i].key && strcmp(cases[i].key, kinds[k]) == 0);
        case_remove(&c);
    }
}

static void test_findings_ranks(void **state)
{
    struct report_rank ranks[] = {{"0", 100}, {"1", 100}, {"2", 150}};
    struct report_findings f = {0};
    report_find_imbalance(ranks, 3, &f);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.items[0].key, "rank-imbalance");
    report_findings_done(&f);
    ranks[2].cpu_seconds = 130;
    f = (struct report_findings){0};
    report_find_imbalance(ranks, 3, &f);
    report_find_imbalance(ranks, 1, &f);
    assert_int_equal(f.count, 0);
}

/* As many as there are limits: the page has all, Markdown the first five. */
static void test_findings_shown(void **state)
{
    struct case_of c;
    case_make(&c);
    for (unsigned kind = 0; kind < LIMITS; kind++) {
        case_allow(&c, kind, 100, "resource limit");
        c.s.summary.whole.limits.of[kind].reached = "SIGXCPU";
    }
    struct report_findings f;
    report_find(c.r, &f);
    assert_int_equal(f.count, LIMITS - 1); /* that of CPUs shows as throttling */
    report_findings_done(&f);
    case_remove(&c);
}

static void test_findings_waiting_and_faults(void **state)
{
    struct case_of c;
    case_make(&c);
    case_put(&c, process_cpu_seconds, 90);
    case_put(&c, process_cpu_wait_seconds, 11);
    assert_true(has_finding(&c, "waiting-for-cpu"));
    case_put(&c, process_cpu_wait_seconds, 9);
    assert_false(has_finding(&c, "waiting-for-cpu"));
    case_put(&c, process_cpu_seconds, 0.1); /* a job that sleeps: of little, much */
    case_put(&c, process_cpu_wait_seconds, 9);
    assert_false(has_finding(&c, "waiting-for-cpu"));
    case_put(&c, process_cpu_wait_seconds, 10);
    assert_true(has_finding(&c, "waiting-for-cpu"));
    case_put(&c, process_faults_major_count, 10000);
    assert_true(has_finding(&c, "major-faults"));
    case_put(&c, process_faults_major_count, 9999);
    assert_false(has_finding(&c, "major-faults"));
    case_put(&c, process_memory_swap_bytes, 1 << 20);
    assert_true(has_finding(&c, "swap"));
    case_put(&c, process_memory_swap_bytes, 4096); /* a page or two of any program */
    assert_false(has_finding(&c, "swap"));
    case_remove(&c);
}

static void test_findings_memory_and_limits(void **state)
{
    struct case_of c;
    case_make(&c);
    struct limit *l = &c.s.summary.whole.limits.of[LIMIT_MEMORY_BYTES];
    case_allow(&c, LIMIT_MEMORY_BYTES, 1000e6, "memory limit");
    case_put(&c, process_memory_rss_bytes, 900e6);
    assert_true(has_finding(&c, "memory-near-limit"));
    case_put(&c, process_memory_rss_bytes, 890e6);
    assert_false(has_finding(&c, "memory-near-limit"));
    case_put(&c, process_memory_rss_bytes, 240e6);
    assert_true(has_finding(&c, "memory-unused"));
    case_put(&c, process_memory_peak_bytes, 250e6); /* of one process, between samples */
    assert_false(has_finding(&c, "memory-unused"));
    case_put(&c, process_memory_peak_bytes, 240e6);
    assert_true(has_finding(&c, "memory-unused"));
    l->by = "machine"; /* which was not requested */
    assert_false(has_finding(&c, "memory-unused"));
    l->reached = "OOM killer";
    assert_true(has_finding(&c, "limit-hit"));
    c.s.summary.whole.end.oom_killed = true;
    assert_true(has_finding(&c, "oom"));
    assert_false(has_finding(&c, "limit-hit")); /* the same */
    case_remove(&c);
}

static void test_findings_growth(void **state)
{
    struct case_of c;
    for (int leaks = 0; leaks < 2; leaks++) {
        case_make(&c);
        struct row row;
        row_init(&row, ENTITY_TARGET);
        struct frame f = {.interval_ns = NS_PER_SECOND, .target = {{NULL, &row}}};
        for (unsigned i = 1; i <= 100; i++) {
            uint64_t size = 100 << 20;
            size += leaks ? i << 20 : (i % 2) << 20;
            row_put_u64(&row, process_memory_rss_bytes, i < 97 ? size : 0); /* it ends */
            f.elapsed_ns = i * NS_PER_SECOND;
            report_add_frame(c.r, &f);
        }
        assert_int_equal(has_finding(&c, "memory-grows"), leaks);
        case_remove(&c);
    }
}

static void test_findings_one_process(void **state)
{
    struct case_of c;
    case_make(&c);
    case_put(&c, process_cpu_seconds, 10);
    c.s.summary.largest = calloc(1, sizeof *c.s.summary.largest);
    struct largest_process p = {
        .pid = 7, .name = "cc1", .cpu_ns = 8 * NS_PER_SECOND, .has_cpu = true};
    largest_add(c.s.summary.largest, &p);
    assert_false(has_finding(&c, "one-process")); /* there is no other */
    for (int i = 0; i < 2; i++) {
        struct largest_process small = {.pid = 8 + i, .name = "sh", .has_cpu = true};
        largest_add(c.s.summary.largest, &small);
    }
    assert_true(has_finding(&c, "one-process"));
    case_put(&c, process_cpu_seconds, 10.1);
    assert_false(has_finding(&c, "one-process"));
    case_remove(&c);
}

static void test_findings_need_ten_samples(void **state)
{
    struct case_of c;
    case_make(&c);
    case_allow(&c, LIMIT_CPUS, 4, "machine");
    case_put(&c, process_cpu_seconds, 95);
    case_put(&c, process_cpu_cores, 1.01);
    c.r->frames = 9;
    assert_false(has_finding(&c, "serial"));
    assert_true(has_finding(&c, "too-short"));
    c.r->frames = 10;
    c.s.summary.elapsed_ns = NS_PER_SECOND - 1;
    assert_true(has_finding(&c, "too-short") && !has_finding(&c, "serial"));
    c.s.summary.elapsed_ns = 100 * NS_PER_SECOND;
    assert_true(!has_finding(&c, "too-short") && has_finding(&c, "serial"));
    c.r->frames = 9;
    c.s.summary.whole.end.oom_killed = true; /* the kernel counted it */
    assert_true(has_finding(&c, "oom"));
    case_remove(&c);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static char *page_of(struct sample *s, const char *name)
{
    char path[512];
    struct sink *sink;
    struct toll_output out = {.size = sizeof out, .destination = tree_path(&s->tree, path, name)};
    assert_int_equal(sink_open(&sink, &out, &s->selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s->run), 0);
    for (int i = 0; i < 12; i++)
        assert_int_equal(sink_frame(sink, &s->frame), 0);
    assert_int_not_equal(access(path, F_OK), 0); /* nothing is there before the end */
    assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_close(sink, false);
    return tree_read(&s->tree, name);
}

static void test_title_has_the_quotes_of_the_command(void **state)
{
    struct case_of c;
    case_make(&c);
    struct run run = *c.s.summary.run;
    char *command[] = {strdupa("sh"), strdupa("-c"), strdupa("sleep 1; echo it's"), strdupa(""),
                       NULL};
    struct buf title = {0};
    run.name = NULL;
    run.command = command;
    c.s.summary.run = &run;
    report_put_title(c.r, &title);
    buf_putc(&title, '\0');
    assert_string_equal(title.data, "sh -c 'sleep 1; echo it'\\''s' ''");
    buf_done(&title);
    case_remove(&c);
}

static void test_page_is_whole_and_has_no_foreign_markup(void **state)
{
    static const char *const names[] = {"x.html", "x.md", "x.svg"};
    struct sample s;
    sample_make(&s, NULL);
    free(s.run.name);
    s.run.name = NULL;
    assert_int_equal(run_set_command(&s.run, (char *[]){strdupa("<script>alert(1)</script>"),
                                                        strdupa("a\"b'&|`*\033[31m"), NULL}),
                     0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *text = page_of(&s, names[i]);
        assert_null(strstr(text, "<script>alert"));
        assert_null(strchr(text, '\033'));
        if (i != 1)
            assert_non_null(strstr(text, i ? "</svg>" : "</html>"));
        else
            assert_non_null(strstr(text, "a\"b'\\\\''&amp;\\|\\`\\*?\\[31m"));
        for (char *script; (script = strstr(text, "<script"));) { /* its own, and its data */
            char *end = strstr(script, "</script>");
            assert_int_equal(i, 0);
            assert_non_null(end);
            memmove(script, end + 1, strlen(end + 1) + 1);
        }
        assert_null(strstr(text, "nan"));
        free(text);
    }
    sample_remove(&s);
}

/* Any value of any size, as different from the one before as can be; counters grow. */
static void noise_put(struct row *row, enum metric_id id, uint64_t *seed, uint64_t n)
{
    const struct metric *m = metric_of(id);
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t value = *seed >> 40;
    if (metric_is_double(m))
        row_put_double(row, id, (double)value / 1e6);
    else if (m->kind == METRIC_COUNTER)
        row_put_u64(row, id, n * UINT64_C(100000000) + value);
    else
        row_put_u64(row, id, value * 4096);
}

/* A day with a sample each second on a machine with eight GPUs, of which no two samples are alike:
 * the page stays below 2 MB. */
static void test_page_of_a_day(void **state)
{
    enum { GPUS = 8, SECONDS = 86400 };
    struct sample s;
    struct instance devices[1 + GPUS], *machine[1 + GPUS];
    uint64_t seed = 1;
    sample_make(&s, NULL);
    for (unsigned i = 0; i <= GPUS; i++) {
        machine[i] = &devices[i];
        instance_init(&devices[i], i ? ENTITY_GPU : ENTITY_SYSTEM);
        devices[i].number = i + 1;
        if (i)
            snprintf(devices[i].entity.name, sizeof devices[i].entity.name, "%u", i - 1);
    }
    s.frame.machine = machine;
    s.frame.machine_count = ARRAY_LEN(machine);
    s.frame.interval_ns = NS_PER_SECOND;
    s.summary.elapsed_ns = SECONDS * NS_PER_SECOND;
    struct sink *sink = sample_sink(&s, "day.html");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    for (uint64_t n = 1; n <= SECONDS; n++) {
        s.frame.elapsed_ns = n * NS_PER_SECOND;
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            noise_put(&s.parts[PART_COMBINED], (enum metric_id)id, &seed, n);
        for (unsigned i = 0; i <= GPUS; i++) {
            enum entity_kind kind = devices[i].entity.kind;
            for (unsigned k = 0; k < metric_count(kind); k++)
                noise_put(&devices[i].row, metric_first(kind) + (enum metric_id)k, &seed, n);
        }
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    }
    assert_int_equal(sink_summary(sink, &s.summary), 0);
    sink_close(sink, false);
    char path[512];
    struct stat st;
    assert_int_equal(stat(tree_path(&s.tree, path, "day.html"), &st), 0);
    assert_in_range(st.st_size, 500 * 1000, 2000 * 1000);
    s.frame.machine = NULL;
    s.frame.machine_count = 0;
    sample_remove(&s);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void test_phases_of_one_name_have_one_colour(void **state)
{
    static const char longer[] =
        "a name that is longer than what a report has room for, which is cut";
    const char *const names[] = {"load", longer, "load", longer};
    struct report *r = report_new();
    struct phase phase = {.end_ns = NS_PER_SECOND};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct run_mark m = {.kind = MARK_PHASE_END, .name = names[i], .phase = &phase};
        report_add_mark(r, &m);
    }
    assert_int_equal(r->phase_count, 4);
    assert_int_equal(r->phases[2].colour, r->phases[0].colour);
    assert_int_equal(r->phases[3].colour, r->phases[1].colour);
    assert_int_not_equal(r->phases[1].colour, r->phases[0].colour);
    report_free(r);
}

static void add_end(struct report *r, pid_t pid, pid_t parent, unsigned from_s, unsigned until_s,
                    uint64_t cpu_ns)
{
    struct process p = {.entity = {.kind = ENTITY_PROCESS, .pid = pid, .parent = parent}};
    struct process_end e = {.process = &p, .elapsed_ns = until_s * NS_PER_SECOND};
    row_init(&p.own, ENTITY_PROCESS);
    row_put_u64(&p.own, process_wall_seconds, (until_s - from_s) * NS_PER_SECOND);
    row_put_u64(&p.own, process_cpu_seconds, cpu_ns);
    report_add_process(r, &e);
}

static void assert_tree(const struct report *r, const char *expected)
{
    struct tree_row rows[REPORT_PROCESSES];
    char text[2000];
    size_t length = 0;
    unsigned count = report_tree(r, rows);
    assert_int_equal(count, r->process_count);
    for (unsigned i = 0; i < count && length < sizeof text; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%u:%d", i ? " " : "",
                                   rows[i].depth, (int)r->processes[rows[i].process].pid);
    assert_string_equal(text, expected);
}

static void test_tree_of_processes(void **state)
{
    struct report *r = report_new();
    add_end(r, 12, 11, 2, 3, 5);
    add_end(r, 13, 10, 4, 5, 5);
    add_end(r, 14, 99, 3, 9, 5); /* its parent is unknown */
    add_end(r, 11, 10, 1, 6, 5);
    add_end(r, 12, 13, 7, 8, 5); /* the pid again, and its parent is gone */
    add_end(r, 10, 1, 0, 10, 5);
    assert_tree(r, "0:10 1:11 2:12 1:13 0:14 0:12");
    report_free(r);
}

static void test_tree_of_parents_of_each_other(void **state)
{
    struct report *r = report_new();
    add_end(r, 1, 2, 0, 9, 5);
    add_end(r, 2, 1, 0, 9, 5);
    add_end(r, 3, 3, 0, 9, 5);
    assert_tree(r, "0:3 0:1 1:2");
    report_free(r);
}

static void test_parents_of_busy_processes_are_kept(void **state)
{
    struct report *r = report_new();
    add_end(r, 7000, 7001, 0, 9, 50 * NS_PER_SECOND);
    add_end(r, 7001, 1, 0, 9, 0);
    for (unsigned i = 0; i < 500; i++)
        add_end(r, (pid_t)(100 + i), 50, 0, 9, NS_PER_SECOND + i);
    assert_int_equal(r->process_count, REPORT_PROCESSES);
    assert_int_equal(r->processes_left_out, 502 - REPORT_PROCESSES);
    struct tree_row rows[REPORT_PROCESSES];
    bool is_kept = false;
    report_tree(r, rows);
    for (unsigned i = 1; i < REPORT_PROCESSES; i++)
        is_kept |= r->processes[rows[i].process].pid == 7000 && rows[i].depth == 1 &&
                   r->processes[rows[i - 1].process].pid == 7001;
    assert_true(is_kept);
    report_free(r);
}

/* ---- earlier runs ---------------------------------------------------------------------------- */

static void assert_change(double before, enum quality before_quality, double now,
                          enum quality now_quality, const char *expected)
{
    struct report_past runs[2] = {{.name = "a"}, {.name = "a"}};
    struct report_history h = {.runs = runs, .count = 2};
    struct buf b = {0};
    runs[0].figures[HISTORY_CPU].value = before;
    runs[0].figures[HISTORY_CPU].quality = before_quality;
    runs[1].figures[HISTORY_CPU].value = now;
    runs[1].figures[HISTORY_CPU].quality = now_quality;
    history_put_change(&h, 1, HISTORY_CPU, &b);
    buf_putc(&b, '\0');
    assert_string_equal(b.data, expected);
    buf_clear(&b);
    history_put_change(&h, 0, HISTORY_CPU, &b); /* nothing before */
    assert_int_equal(b.length, 0);
    runs[0].name = "b";
    history_put_change(&h, 1, HISTORY_CPU, &b);
    assert_int_equal(b.length, 0);
    buf_done(&b);
}

static void test_changes(void **state)
{
    assert_change(10, QUALITY_EXACT, 11.2, QUALITY_SAMPLED, "+12 %");
    assert_change(10, QUALITY_EXACT, 9.9, QUALITY_EXACT, "−1.0 %");
    assert_change(10, QUALITY_EXACT, 10.001, QUALITY_EXACT, "0 %");
    assert_change(1, QUALITY_EXACT, 25, QUALITY_EXACT, "× 25");
    assert_change(10, QUALITY_LOWER_BOUND, 20, QUALITY_EXACT, "");
    assert_change(10, QUALITY_EXACT, 20, QUALITY_LOWER_BOUND, "");
    assert_change(10, QUALITY_UNKNOWN, 20, QUALITY_EXACT, "");
    assert_change(0, QUALITY_EXACT, 20, QUALITY_EXACT, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_keeps_every_peak_however_long_the_run),
        cmocka_unit_test(test_trace_has_gaps_where_nothing_is_known),
        cmocka_unit_test(test_trace_has_every_value_until_they_are_too_many),
        cmocka_unit_test(test_slope_of_a_line_and_of_noise),
        cmocka_unit_test(test_findings_serial_and_idle),
        cmocka_unit_test(test_findings_do_not_contradict_each_other),
        cmocka_unit_test(test_findings_disk),
        cmocka_unit_test(test_findings_page_cache),
        cmocka_unit_test(test_findings_gpus),
        cmocka_unit_test(test_findings_ranks),
        cmocka_unit_test(test_findings_shown),
        cmocka_unit_test(test_findings_waiting_and_faults),
        cmocka_unit_test(test_findings_memory_and_limits),
        cmocka_unit_test(test_findings_growth),
        cmocka_unit_test(test_findings_one_process),
        cmocka_unit_test(test_findings_need_ten_samples),
        cmocka_unit_test(test_title_has_the_quotes_of_the_command),
        cmocka_unit_test(test_page_is_whole_and_has_no_foreign_markup),
        cmocka_unit_test(test_page_of_a_day),
        cmocka_unit_test(test_phases_of_one_name_have_one_colour),
        cmocka_unit_test(test_tree_of_processes),
        cmocka_unit_test(test_tree_of_parents_of_each_other),
        cmocka_unit_test(test_parents_of_busy_processes_are_kept),
        cmocka_unit_test(test_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
