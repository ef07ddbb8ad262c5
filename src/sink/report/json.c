/* SPDX-License-Identifier: MIT
 * The report as JSON (docs/schema/report.schema.json): the summary with its own keys, and what only
 * a report has. */
#include "record/keys.h"
#include "sink/report/job.h"

static void json_put_findings(struct json_out *j, const struct report *r)
{
    static const char *const weights[] = {"note", "warning", "problem"};
    struct report_findings f;
    report_find(r, &f);
    json_put_array(j, "findings");
    for (unsigned i = 0; i < f.count; i++) {
        const struct report_finding *one = &f.items[i];
        json_object(j);
        json_put_string(j, "finding", one->key);
        json_put_string(j, "weight", weights[one->weight]);
        json_key(j, "sentence");
        json_string_n(j, one->sentence.data, one->sentence.length);
        json_key(j, "evidence");
        json_string_n(j, one->evidence.data, one->evidence.length);
        json_object_end(j);
    }
    json_array_end(j);
    report_findings_done(&f);
}

static void json_put_used(struct json_out *j, const struct report *r)
{
    struct limit_used used[LIMITS];
    unsigned count = report_used(r, used);
    json_put_array(j, "used");
    for (unsigned i = 0; i < count; i++) {
        json_object(j);
        json_put_string(j, "name", used[i].name);
        json_put_string(j, "unit", used[i].unit->facts.unit);
        json_put_double(j, "used", used[i].used, 6);
        json_put_bool(j, "used_is_lower_bound", used[i].is_least);
        json_put_double(j, "allowed", used[i].allowed, 6);
        json_put_string(j, "set_by", used[i].limit->by);
        json_object_end(j);
    }
    json_array_end(j);
}

static void json_put_span(struct json_out *j, const struct report_span *s)
{
    json_put_string(j, "name", s->name);
    json_put_i64(j, "pid", s->pid);
    json_put_seconds(j, "begin_seconds", s->from_ns);
    json_put_seconds(j, "end_seconds", s->until_ns);
}

static void json_put_timeline(struct json_out *j, const struct report *r)
{
    json_put_object(j, "timeline");
    json_put_array(j, "phases");
    for (unsigned i = 0; i < r->phase_count; i++) {
        json_object(j);
        json_put_span(j, &r->phases[i]);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_u64(j, "phases_left_out", r->phases_left_out);
    json_put_array(j, "processes");
    struct tree_row rows[REPORT_PROCESSES];
    unsigned count = report_tree(r, rows);
    for (unsigned i = 0; i < count; i++) {
        const struct report_span *p = &r->processes[rows[i].process];
        json_object(j);
        json_put_span(j, p);
        json_put_i64(j, "parent", p->parent);
        json_put_u64(j, "depth", rows[i].depth);
        json_put_double(j, metric_of(process_cpu_seconds)->facts.name,
                        p->has_cpu ? p->cpu_seconds : NAN, 9);
        json_put_bool(j, "complete", p->is_complete);
        json_put_bool(j, "recorded", p->is_recorded);
        json_put_u64(j, "count", max_u64(p->count, 1));
        json_key(j, "peak_rss_bytes");
        if (p->peak_bytes)
            json_u64(j, p->peak_bytes);
        else
            json_null(j);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_u64(j, "processes_left_out", r->processes_left_out);
    json_put_array(j, "events");
    for (unsigned i = 0; i < r->event_count; i++) {
        json_object(j);
        json_put_string(j, "name", r->events[i].name);
        json_put_seconds(j, "elapsed_seconds", r->events[i].at_ns);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_u64(j, "events_left_out", r->events_left_out);
    json_object_end(j);
}

static void json_begin_report(struct sink *s, const char *title)
{
    (void)title;
    buf_puts(&s->text, "{\n  \"schema\": \"toll.report/1\",\n  \"runs\": [\n");
}

static void json_run(struct sink *s, const struct report *r)
{
    struct json_out j;
    json_begin(&j, &s->text, 2);
    json_object(&j);
    json_put_object(&j, "summary");
    json_put_string(&j, "schema", SUMMARY_SCHEMA);
    record_json_summary(&j, r->summary, r->selection);
    json_object_end(&j);
    json_put_u64(&j, "samples", r->frames);
    json_put_findings(&j, r);
    json_put_used(&j, r);
    json_put_timeline(&j, r);
    json_put_array(&j, "charts");
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        if (!chart_is_empty(&r->charts[i]))
            chart_put_json(r, &r->charts[i], &j);
    json_array_end(&j);
    json_object_end(&j);
}

/* After the history, which is empty as the runs are. */
static void json_job(struct sink *s, const struct report_job *j)
{
    buf_puts(&s->text, ",\n  \"job\": ");
    job_json(s, j);
}

static void json_history(struct sink *s, const struct report_history *h)
{
    struct json_out j;
    buf_puts(&s->text, "\n  ],\n  \"history\": ");
    json_begin(&j, &s->text, 2);
    json_array(&j);
    for (size_t i = 0; i < h->count; i++) {
        const struct report_past *p = &h->runs[i];
        struct buf end = {0};
        history_put_end(p, &end);
        json_object(&j);
        json_put_string(&j, "id", p->id);
        json_put_string(&j, "name", p->name);
        json_put_string(&j, "record", p->record);
        json_put_u64(&j, "run", p->number);
        json_put_utc(&j, "start", p->start_ns);
        json_key(&j, "ended");
        json_string_n(&j, end.data, end.length);
        json_put_bool(&j, "failed", history_is_bad(p));
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            json_put_object(&j, h->keys[f]);
            bool is_known = p->figures[f].quality != QUALITY_UNKNOWN;
            json_put_double(&j, "value", is_known ? p->figures[f].value : NAN, 9);
            json_put_string(&j, "quality", quality_word(p->figures[f].quality));
            json_put_double(&j, "change", history_change(h, i, f), 6);
            json_object_end(&j);
        }
        json_object_end(&j);
        s->text.failed |= buf_failed(&end);
        buf_done(&end);
    }
    json_array_end(&j);
}

static void json_end(struct sink *s)
{
    buf_puts(&s->text, "\n}\n");
}

const struct report_form report_json = {
    .job = json_job,
    .name = "json",
    .between = ",\n",
    .history_is_last = true,
    .begin = json_begin_report,
    .run = json_run,
    .history = json_history,
    .end = json_end,
};
