/* SPDX-License-Identifier: MIT
 * The string that jobstats keeps in the comment of a job of Slurm: "JS1:", and in base64 of gzip
 *
 *   {"nodes": {"node12": {
 *      "cpus": 4,                        that the job may use, 1.5 with a quota
 *      "total_memory": 8589934592,       what the job may use, bytes
 *      "used_memory": 3221225472,        at most
 *      "total_time": 120.5,              of its CPUs, seconds
 *      "gpu_total_memory": {"0": …}, "gpu_used_memory": {"0": …}, "gpu_utilization": {"0": 87.5}
 *    }},
 *    "total_time": 60.1,                 wall time
 *    "gpus": 1}
 *
 * A figure that is not known is missing. "JS1:None" is the word for a job without figures. */
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "record/keys.h"
#include "sink/sink.h"
#include "sink/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void jobstats_put(struct json_out *j, const char *key, double value, unsigned decimals)
{
    struct buf text = {0};
    if (isnan(value))
        return;
    buf_double_fixed(&text, value, decimals);
    json_key(j, key);
    json_raw(j, text.data ? text.data : "null", text.data ? text.length : 4);
    j->buf->failed |= buf_failed(&text);
    buf_done(&text);
}

static const char *jobstats_gpu_name(const void *of, enum entity_kind kind, size_t place)
{
    const struct summary *s = of;
    for (size_t i = 0; i < s->instance_count; i++)
        if (s->instances[i].instance->entity.kind == kind && place-- == 0)
            return entity_name(&s->instances[i].instance->entity);
    return "";
}

/* One figure of every GPU, by its number. */
static void jobstats_put_gpus(struct json_out *j, const struct summary *s, size_t count,
                              const char *key, enum metric_id id, bool is_mean, double factor)
{
    json_put_object(j, key);
    for (size_t i = 0, place = 0; i < s->instance_count; i++) {
        const struct instance_summary *gpu = &s->instances[i];
        const struct series *series = &gpu->series[id - metric_first(ENTITY_GPU)];
        char name[24];
        if (gpu->instance->entity.kind != ENTITY_GPU)
            continue;
        snprintf(name, sizeof name, "%zu", gpu_number(s, jobstats_gpu_name, count, place++));
        if (series->count)
            jobstats_put(j, name,
                         (is_mean ? series_mean(series, metric_of(id)) : series->max) * factor,
                         is_mean ? 1 : 0);
    }
    json_object_end(j);
}

static void jobstats_add_json(struct buf *b, const struct summary *s)
{
    const struct target_summary *t = &s->whole;
    const struct limit *cpus = &t->limits.of[LIMIT_CPUS],
                       *memory = &t->limits.of[LIMIT_MEMORY_BYTES];
    const struct series *cpu = &t->series[PART_COMBINED][process_cpu_seconds];
    struct memory_peak peak = summary_memory_peak(s, UINT64_MAX);
    size_t gpus = 0;
    for (size_t i = 0; i < s->instance_count; i++)
        gpus += s->instances[i].instance->entity.kind == ENTITY_GPU;
    bool knows_cpu = cpu->count &&
                     t->provenance[PART_COMBINED][process_cpu_seconds].quality != QUALITY_UNKNOWN;
    struct json_out j;
    json_begin(&j, b, 0);
    json_object(&j);
    json_put_object(&j, "nodes");
    json_put_object(&j, s->run->host);
    double cores = cpus->known && !cpus->unlimited ? cpus->cores : (double)s->run->cpus;
    jobstats_put(&j, "cpus", cores > 0 ? cores : (double)NAN,
                 cores == (double)(uint64_t)cores ? 0 : 2);
    jobstats_put(&j, "total_memory",
                 memory->known && !memory->unlimited ? (double)memory->value : (double)NAN, 0);
    jobstats_put(&j, "used_memory", peak.quality == QUALITY_UNKNOWN ? (double)NAN : peak.bytes, 0);
    jobstats_put(&j, "total_time",
                 knows_cpu ? metric_number(metric_of(process_cpu_seconds), cpu->last) : (double)NAN,
                 1);
    if (gpus) {
        jobstats_put_gpus(&j, s, gpus, "gpu_total_memory", gpu_memory_total_bytes, false, 1);
        jobstats_put_gpus(&j, s, gpus, "gpu_used_memory", gpu_memory_used_bytes, false, 1);
        jobstats_put_gpus(&j, s, gpus, "gpu_utilization", gpu_utilization_ratio, true, 100);
    }
    json_object_end(&j);
    json_object_end(&j);
    jobstats_put(&j, "total_time", (double)s->elapsed_ns / 1e9, 1);
    jobstats_put(&j, "gpus", (double)gpus, 0);
    json_object_end(&j);
}

static void jobstats_summary(struct sink *s, const struct summary *summary)
{
    struct gzip *gzip = NULL;
    struct toll_error e = {0};
    struct buf text = {0}, packed = {0};
    jobstats_add_json(&text, summary);
    buf_puts(&s->text, "JS1:");
    if (!summary->has_target || gzip_open(&gzip, &e) < 0)
        buf_puts(&s->text, "None");
    else if (buf_failed(&text) || gzip_pack(gzip, text.data, text.length, &packed) < 0)
        s->text.failed = true;
    else
        base64_add(&s->text, packed.data, packed.length, false);
    buf_putc(&s->text, '\n');
    gzip_close(gzip);
    buf_done(&text);
    buf_done(&packed);
}

const struct sink_kind sink_jobstats = {
    .format = {"jobstats", "", "the summary of a job of Slurm as jobstats keeps it (JS1)", "FILE"},
    .holds_one_run = true,
    .summary = jobstats_summary,
};

/* ==== JUnit =================================================================================== */

/* The run as a test case of JUnit, with its figures as properties; readers of test results
 * (Jenkins, GitLab, pytest's own tools) show them.
 *   <testsuites>
 *     <testsuite name="toll" tests="1" failures="0" errors="0" time="1.608" timestamp="…">
 *       <testcase classname="toll" name="make" time="1.608">
 *         <properties>
 *           <property name="target_cpu_seconds" value="1.126"/>
 *           <property name="lower_bounds" value="target_memory_peak_bytes"/>
 *         </properties>
 *         <failure message="exit status 3"/>
 * Counters are totals, gauges their maximum. A figure that is not known has no property. */

static void junit_attribute(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, " %s=\"", name);
    html_put(b, value);
    buf_putc(b, '"');
}

static void junit_property(struct buf *b, const char *name, const struct buf *value)
{
    buf_puts(b, "        <property");
    junit_attribute(b, "name", name);
    junit_attribute(b, "value", value->data ? value->data : "");
    buf_puts(b, "/>\n");
    b->failed |= value->failed;
}

static void junit_properties(struct sink *s, const struct summary *summary)
{
    const struct target_summary *t = &summary->whole;
    struct buf lower_bounds = {0};
    buf_puts(&s->text, "      <properties>\n");
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct metric *m = metric_of(id);
        const struct series *series = &t->series[PART_COMBINED][id];
        enum quality quality = t->provenance[PART_COMBINED][id].quality;
        bool is_known = summary->has_target && quality != QUALITY_UNKNOWN && series->count &&
                        !(t->partial[PART_COMBINED] >> id & 1);
        if (!is_known || !(s->selection.parts[PART_COMBINED] >> id & 1))
            continue;
        struct buf name = {0}, value = {0};
        column_lead(&name, ENTITY_TARGET, PART_COMBINED, NULL);
        buf_puts(&name, m->facts.name);
        buf_number(&value,
                   m->kind == METRIC_COUNTER ? metric_number(m, series->last) : series->max);
        junit_property(&s->text, name.data ? name.data : "", &value);
        if (quality == QUALITY_LOWER_BOUND)
            buf_printf(&lower_bounds, "%s%s", lower_bounds.length ? " " : "",
                       name.data ? name.data : "");
        s->text.failed |= buf_failed(&name);
        buf_done(&name);
        buf_done(&value);
    }
    if (lower_bounds.length)
        junit_property(&s->text, "lower_bounds", &lower_bounds);
    buf_done(&lower_bounds);
    buf_puts(&s->text, "      </properties>\n");
}

static void junit_summary(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->whole.end;
    bool has_failed = end->ended && !end->unknown && (end->signaled || end->status);
    const char *name = summary->run->name ? summary->run->name : "toll";
    struct buf *b = &s->text;
    struct buf time = {0}, when = {0}, how = {0};
    buf_double_fixed(&time, (double)summary->elapsed_ns / 1e9, 3);
    buf_utc(&when, summary->run->start_real_ns);
    human_end(&how, summary);
    buf_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    junit_attribute(b, "name", "toll");
    buf_printf(b, " tests=\"1\" failures=\"%d\" errors=\"0\"", has_failed);
    junit_attribute(b, "time", time.data ? time.data : "");
    junit_attribute(b, "timestamp", when.data ? when.data : "");
    junit_attribute(b, "hostname", summary->run->host);
    buf_puts(b, ">\n    <testcase");
    junit_attribute(b, "classname", "toll");
    junit_attribute(b, "name", name);
    junit_attribute(b, "time", time.data ? time.data : "");
    buf_puts(b, ">\n");
    junit_properties(s, summary);
    if (has_failed) {
        buf_puts(b, "      <failure");
        junit_attribute(b, "message", how.data ? how.data : "");
        buf_puts(b, "/>\n");
    }
    buf_puts(b, "    </testcase>\n  </testsuite>\n</testsuites>\n");
    b->failed |= buf_failed(&time) || buf_failed(&when) || buf_failed(&how);
    buf_done(&time);
    buf_done(&when);
    buf_done(&how);
}

const struct sink_kind sink_junit = {
    .format = {"junit", "", "the run as a test case of JUnit, with figures as properties", "FILE"},
    .holds_one_run = true,
    .summary = junit_summary,
};

/* ==== JSON ==================================================================================== */

/* JSON: the summary as one document, and the record of a run, one object a line, written as it
 * happens. docs/formats.md describes both.
 *   {"type":"run","schema":"toll.record/1",…}
 *   {"type":"sample","tick":0,"time":"2026-11-15T21:27:53.120Z","elapsed_seconds":0.01,…}
 *   {"type":"process",…}   {"type":"event",…}
 *   {"type":"summary",…} */

static void json_summary(struct sink *s, const struct summary *summary)
{
    struct json_out j;
    json_begin(&j, &s->text, 2);
    json_object(&j);
    json_put_string(&j, "schema", SUMMARY_SCHEMA);
    record_json_summary(&j, summary, &s->selection);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
}

const struct sink_kind sink_json = {
    .format = {"json", ".json", "the summary as one JSON document", "FILE"},
    .holds_one_run = true,
    .summary = json_summary,
};

/* ==== Record ================================================================================== */

static void jsonl_begin_line(struct json_out *j, struct sink *s, const char *type)
{
    json_begin(j, &s->text, 0);
    json_object(j);
    json_put_string(j, "type", type);
}

static void jsonl_end_line(struct json_out *j, struct sink *s)
{
    json_object_end(j);
    buf_putc(&s->text, '\n');
}

static void jsonl_begin(struct sink *s, const struct run *run)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "run");
    json_put_string(&j, "schema", RECORD_SCHEMA);
    record_json_run_line(&j, run, &s->selection);
    jsonl_end_line(&j, s);
}

static void jsonl_frame(struct sink *s, const struct frame *f)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "sample");
    record_json_sample(&j, f, s->run, &s->selection);
    jsonl_end_line(&j, s);
}

static void jsonl_process_end(struct sink *s, const struct process_end *e)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "process");
    record_json_process(&j, e, s->run, &s->selection);
    jsonl_end_line(&j, s);
}

static void jsonl_mark(struct sink *s, const struct run_mark *m)
{
    struct json_out j;
    jsonl_begin_line(&j, s, record_words_mark[m->kind]);
    record_json_mark(&j, m, &s->selection);
    jsonl_end_line(&j, s);
}

static void jsonl_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    struct json_out j;
    jsonl_begin_line(&j, s, record_words_mark[MARK_EVENT]);
    record_json_note(&j, elapsed_ns, sentence);
    jsonl_end_line(&j, s);
}

static void jsonl_summary(struct sink *s, const struct summary *summary)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "summary");
    json_put_string(&j, "schema", SUMMARY_SCHEMA);
    record_json_summary(&j, summary, &s->selection);
    jsonl_end_line(&j, s);
}

const struct sink_kind sink_jsonl = {
    .format = {"jsonl", ".jsonl", "the record: a JSON object on each line, as it happens", "FILE"},
    .begin = jsonl_begin,
    .frame = jsonl_frame,
    .process_end = jsonl_process_end,
    .mark = jsonl_mark,
    .note = jsonl_note,
    .summary = jsonl_summary,
};
