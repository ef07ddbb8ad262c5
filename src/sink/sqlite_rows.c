/* SPDX-License-Identifier: MIT */
#include "sink/sqlite_rows.h"

#include "sink/record_json.h"
#include "sink/sqlite_schema.h"
#include "sink/sqlite_tape.h"

/* ---- The run --------------------------------------------------------------------------------- */

void sqlite_rows_run(struct buf *b, const struct run *run, const struct selection *selection)
{
    struct json_out j;
    sqlite_tape_row(b, STATEMENT_RUN);
    sqlite_tape_text(b, run->name ? run->name : "");
    sqlite_tape_text(b, run->host);
    if (run->pid)
        sqlite_tape_i64(b, run->pid);
    else
        sqlite_tape_null(b);
    sqlite_tape_u64(b, run->start_real_ns);
    size_t began = sqlite_tape_json(b, &j);
    json_object(&j);
    record_json_run(&j, run);
    record_json_run_details(&j, run);
    record_json_left_out(&j, run, selection);
    json_object_end(&j);
    sqlite_tape_json_end(b, began);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void add_value(struct buf *b, const struct metric *m, union value v)
{
    if (metric_is_double(m))
        sqlite_tape_double(b, v.d);
    else
        sqlite_tape_u64(b, v.u);
}

static void add_values(struct buf *b, enum entity_kind kind, const struct row *row,
                       uint64_t selected)
{
    uint64_t known = row->present & selected;
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        if (known >> i & 1)
            add_value(b, metric_of(row->first + i), row->values[i]);
        else
            sqlite_tape_null(b);
    }
}

/* What of the figures is a lower bound, where there is any: a process could not be read. */
static void add_bounds(struct buf *b, const struct row *row, uint64_t selected)
{
    struct json_out j;
    if (!(row->at_least & selected)) {
        sqlite_tape_null(b);
        return;
    }
    size_t began = sqlite_tape_json(b, &j);
    record_json_bounds(&j, row, selected);
    sqlite_tape_json_end(b, began);
}

/* A row of the samples of its kind begins. */
static void begin_row(struct buf *b, uint64_t tick, unsigned entity, enum entity_kind kind)
{
    sqlite_tape_row(b, STATEMENT_ROW + kind);
    sqlite_tape_u64(b, tick);
    sqlite_tape_i64(b, entity);
}

static void add_row(struct buf *b, uint64_t tick, unsigned entity, enum entity_kind kind,
                    const struct row *row, uint64_t selected)
{
    begin_row(b, tick, entity, kind);
    if (kind == ENTITY_PROCESS)
        add_bounds(b, row, selected & sqlite_schema_metrics(kind));
    add_values(b, kind, row, selected);
}

/* index: as for sqlite_entities_part. */
static void add_parts(struct buf *b, struct sqlite_entities *x, const struct frame *f,
                      const struct run_target *target, size_t index,
                      const struct selection *selection)
{
    const struct frame_row *parts = target ? f->targets[index].parts : f->target;
    for (unsigned part = 0; part < PARTS; part++) {
        if (!parts[part].row)
            continue;
        begin_row(b, f->tick, sqlite_entities_part(x, target, index, part), ENTITY_TARGET);
        if (target && f->targets[index].has_ended)
            sqlite_tape_i64(b, 1);
        else
            sqlite_tape_null(b);
        add_bounds(b, parts[part].row, selection->parts[part]);
        add_values(b, ENTITY_TARGET, parts[part].row, selection->parts[part]);
    }
}

static void add_targets(struct buf *b, struct sqlite_entities *x, const struct frame *f,
                        const struct run *run, const struct selection *selection)
{
    add_parts(b, x, f, NULL, 0, selection);
    for (size_t i = 0; i < f->target_count; i++)
        add_parts(b, x, f, &run->targets[i], i, selection);
}

void sqlite_rows_frame(struct buf *b, struct sqlite_rows *rows, const struct frame *f,
                       const struct run *run, const struct selection *selection)
{
    struct sqlite_entities *x = &rows->entities;
    sqlite_tape_row(b, STATEMENT_SAMPLE);
    sqlite_tape_u64(b, f->tick);
    sqlite_tape_u64(b, rows->seq++);
    sqlite_tape_u64(b, f->real_ns);
    sqlite_tape_u64(b, f->elapsed_ns);
    sqlite_tape_u64(b, f->interval_ns);
    if (f->between)
        sqlite_tape_i64(b, 1);
    else
        sqlite_tape_null(b);
    if (run->gpu_count)
        sqlite_tape_i64(b, run->gpu_count);
    else
        sqlite_tape_null(b);
    add_targets(b, x, f, run, selection);
    for (size_t i = 0; i < f->machine_count; i++) {
        enum entity_kind kind = f->machine[i]->entity.kind;
        if (selection->of[kind])
            add_row(b, f->tick, sqlite_entities_thing(x, f->machine[i]), kind, &f->machine[i]->row,
                    selection->of[kind]);
    }
    add_row(b, f->tick, sqlite_entities_self(x), ENTITY_SELF, f->self.row,
            selection->of[ENTITY_SELF]);
    for (size_t i = 0; i < f->process_count; i++)
        add_row(b, f->tick, sqlite_entities_process(x, run, f->processes[i].entity), ENTITY_PROCESS,
                f->processes[i].row, selection->of[ENTITY_PROCESS]);
}

/* ---- What happens in between ----------------------------------------------------------------- */

void sqlite_rows_end(struct buf *b, const struct toll_end *end)
{
    bool has_code = end->ended && !end->unknown;
    sqlite_tape_text(b, record_json_end_word(end));
    if (has_code && !end->signaled)
        sqlite_tape_i64(b, end->status);
    else
        sqlite_tape_null(b);
    if (has_code && end->signaled)
        sqlite_tape_i64(b, end->status);
    else
        sqlite_tape_null(b);
}

void sqlite_rows_process_end(struct buf *b, struct sqlite_rows *rows, const struct process_end *e,
                             const struct run *run, const struct selection *selection)
{
    const struct entity *who = &e->process->entity;
    sqlite_tape_row(b, STATEMENT_PROCESS);
    sqlite_tape_u64(b, rows->seq++);
    sqlite_tape_u64(b, e->elapsed_ns);
    sqlite_tape_text(b, record_json_departure(e->how));
    if (e->has_status) {
        sqlite_rows_end(b, &e->end);
        sqlite_tape_i64(b, e->end.core_dumped);
        sqlite_tape_i64(b, e->end.oom_killed);
        sqlite_tape_i64(b, e->end.timed_out);
    } else {
        for (unsigned i = 0; i < 6; i++)
            sqlite_tape_null(b);
    }
    sqlite_tape_i64(b, who->pid);
    sqlite_tape_i64(b, who->parent);
    sqlite_tape_u64(b, who->start_ticks);
    sqlite_tape_text(b, who->name);
    sqlite_entities_targets(b, run, who->targets);
    struct row copy;
    const struct row *row = process_shown(e->process, &copy);
    add_bounds(b, row, selection->of[ENTITY_PROCESS] & sqlite_schema_metrics(ENTITY_PROCESS));
    add_values(b, ENTITY_PROCESS, row, selection->of[ENTITY_PROCESS]);
    sqlite_entities_left(&rows->entities, who);
}

static void add_phase(struct buf *b, const struct told_mark *m)
{
    sqlite_tape_u64(b, left_u64(m->phase->begin_ns, m->start_ns));
    sqlite_tape_u64(b, left_u64(m->phase->end_ns, m->start_ns));
    sqlite_tape_i64(b, !m->phase->not_ended);
    sqlite_tape_text(b, phase_is_of_target(m->phase) ? "target" : "process");
    sqlite_tape_u64(b, phase_figures(m->phase)->looks);
}

void sqlite_rows_mark(struct buf *b, struct sqlite_rows *rows, const struct told_mark *m,
                      const struct selection *selection)
{
    struct json_out j;
    sqlite_tape_row(b, m->phase                ? STATEMENT_PHASE
                       : m->kind == MARK_GAUGE ? STATEMENT_GAUGE
                                               : STATEMENT_EVENT);
    sqlite_tape_u64(b, rows->seq++);
    sqlite_tape_u64(b, m->elapsed_ns);
    sqlite_tape_text(b, m->name);
    sqlite_tape_i64(b, m->pid);
    if (m->kind == MARK_GAUGE) {
        sqlite_tape_double(b, m->value);
        return;
    }
    if (m->phase)
        add_phase(b, m);
    size_t began = sqlite_tape_json(b, &j);
    record_json_attributes(&j, m->attributes);
    sqlite_tape_json_end(b, began);
    if (!m->phase)
        return;
    began = sqlite_tape_json(b, &j);
    record_json_phase_figures(&j, m->phase, selection);
    sqlite_tape_json_end(b, began);
}

void sqlite_rows_note(struct buf *b, struct sqlite_rows *rows, uint64_t elapsed_ns,
                      const char *sentence)
{
    sqlite_tape_row(b, STATEMENT_NOTE);
    sqlite_tape_u64(b, rows->seq++);
    sqlite_tape_u64(b, elapsed_ns);
    sqlite_tape_text(b, sentence);
}
