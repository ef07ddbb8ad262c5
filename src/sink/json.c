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
    record_json_run(&j, run);
    record_json_run_details(&j, run);
    record_json_left_out(&j, run, &s->selection);
    jsonl_end_line(&j, s);
}

static void jsonl_add_process(struct json_out *j, struct sink *s, const struct entity *e,
                              const struct row *row)
{
    json_put_i64(j, "pid", e->pid);
    json_put_i64(j, "parent", e->parent);
    json_put_u64(j, "start_ticks", e->start_ticks);
    json_put_string(j, "name", e->name);
    if (s->run && s->run->target_count > 1) {
        json_key(j, "targets"); /* that it belongs to */
        json_array(j);
        for (size_t i = 0; i < s->run->target_count; i++)
            if (e->targets >> i & 1)
                json_string(j, s->run->targets[i].name);
        json_array_end(j);
    }
    record_json_row(j, row, s->selection.of[ENTITY_PROCESS] & ~metric_fold_mask(FOLD_WHOLE));
}

static void jsonl_add_parts(struct json_out *j, struct sink *s, const struct frame_row parts[PARTS])
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (!parts[part].row)
            continue;
        json_key(j, part_name(part));
        json_object(j);
        record_json_row(j, parts[part].row, s->selection.parts[part]);
        json_object_end(j);
    }
}

/* The machine is one object, other kinds are arrays. What was not read for this sample is left out.
 */
static void jsonl_add_instances(struct json_out *j, struct sink *s, const struct frame *f,
                                enum entity_kind kind)
{
    bool any = false, alone = kind == ENTITY_SYSTEM;
    for (size_t i = 0; i < f->machine_count && s->selection.of[kind]; i++) {
        const struct instance *m = f->machine[i];
        if (m->entity.kind != kind)
            continue;
        if (!any) {
            json_key(j, entity_kind_plural(kind));
            if (!alone)
                json_array(j);
        }
        any = true;
        json_object(j);
        if (!alone)
            record_json_entity(j, &m->entity);
        record_json_row(j, &m->row, s->selection.of[kind] & m->row.present);
        json_object_end(j);
    }
    if (any && !alone)
        json_array_end(j);
}

static void jsonl_frame(struct sink *s, const struct frame *f)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "sample");
    json_put_u64(&j, "tick", f->tick);
    json_put_utc(&j, "time", f->real_ns);
    json_put_seconds(&j, "unix_seconds", f->real_ns);
    json_put_seconds(&j, "elapsed_seconds", f->elapsed_ns);
    json_put_seconds(&j, "interval_seconds", f->interval_ns);
    if (f->last)
        json_put_bool(&j, "last", true);
    if (f->between)
        json_put_bool(&j, "between", true);
    if (s->run && s->run->gpu_count)
        json_put_u64(&j, "gpu_count", s->run->gpu_count);
    if (f->target[PART_COMBINED].row) {
        json_key(&j, "target");
        json_object(&j);
        jsonl_add_parts(&j, s, f->target);
        json_object_end(&j);
    }
    if (f->target_count) {
        json_key(&j, "targets");
        json_array(&j);
        for (size_t i = 0; i < f->target_count; i++) {
            json_object(&j);
            json_put_string(&j, "name", f->targets[i].name);
            if (f->targets[i].has_ended)
                json_put_bool(&j, "ended", true);
            jsonl_add_parts(&j, s, f->targets[i].parts);
            json_object_end(&j);
        }
        json_array_end(&j);
    }
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        jsonl_add_instances(&j, s, f, kind);
    json_key(&j, "self");
    json_object(&j);
    record_json_row(&j, f->self.row, s->selection.of[ENTITY_SELF]);
    json_object_end(&j);
    if (f->process_count) {
        json_key(&j, "processes");
        json_array(&j);
        for (size_t i = 0; i < f->process_count; i++) {
            json_object(&j);
            jsonl_add_process(&j, s, f->processes[i].entity, f->processes[i].row);
            json_object_end(&j);
        }
        json_array_end(&j);
    }
    jsonl_end_line(&j, s);
}

static void jsonl_process_end(struct sink *s, const struct process_end *e)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "process");
    json_put_seconds(&j, "elapsed_seconds", e->elapsed_ns);
    json_put_string(&j, "left", record_json_departure(e->how));
    json_key(&j, "end");
    if (e->has_status)
        record_json_end(&j, &e->end);
    else
        json_null(&j);
    struct row copy;
    jsonl_add_process(&j, s, &e->process->entity, process_shown(e->process, &copy));
    jsonl_end_line(&j, s);
}

static void jsonl_mark(struct sink *s, const struct told_mark *m)
{
    struct json_out j;
    jsonl_begin_line(&j, s, record_words_mark[m->kind]);
    record_json_mark(&j, m, &s->selection);
    jsonl_end_line(&j, s);
}

static void jsonl_note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    struct json_out j;
    jsonl_begin_line(&j, s, "event");
    json_put_seconds(&j, "elapsed_seconds", elapsed_ns);
    json_put_string(&j, "name", "note");
    json_put_string(&j, "text", sentence);
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
