/* SPDX-License-Identifier: MIT
 * JSON: the summary as one document, and the record of a run, one object a line, written as it
 * happens. docs/formats.md describes both.
 *
 *   {"type":"run","schema":"toll.record/1",…}
 *   {"type":"sample","tick":0,"time":"2026-11-15T21:27:53.120Z","elapsed_seconds":0.01,…}
 *   {"type":"process",…}   {"type":"event",…}
 *   {"type":"summary",…} */
#include "record/write.h"
#include "sink/sink.h"

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
