/* SPDX-License-Identifier: MIT */
#include "record/sqlite/sqlite.h"

#include "base/memory.h"
#include "base/text/buf.h"
#include "record/keys.h"

#include <math.h>

/* ==== Row log ================================================================================= */

/* A byte for what follows: nothing, a byte, eight bytes, or a length and as many bytes. */
static void sqlite_row_log_put(struct buf *b, enum row_log_is is, const void *value, size_t size)
{
    char bytes[1 + sizeof(uint64_t)];
    bytes[0] = (char)is;
    memcpy(bytes + 1, value, size);
    buf_add(b, bytes, 1 + size);
}

void sqlite_row_log_row(struct buf *b, unsigned statement)
{
    uint8_t number = (uint8_t)statement;
    sqlite_row_log_put(b, ROW_LOG_ROW, &number, sizeof number);
}

void sqlite_row_log_null(struct buf *b)
{
    buf_putc(b, ROW_LOG_NULL);
}

void sqlite_row_log_i64(struct buf *b, int64_t value)
{
    sqlite_row_log_put(b, ROW_LOG_I64, &value, sizeof value);
}

void sqlite_row_log_u64(struct buf *b, uint64_t value)
{
    if (value > INT64_MAX)
        sqlite_row_log_null(b);
    else
        sqlite_row_log_i64(b, (int64_t)value);
}

void sqlite_row_log_double(struct buf *b, double value)
{
    if (isnan(value))
        sqlite_row_log_null(b);
    else
        sqlite_row_log_put(b, ROW_LOG_DOUBLE, &value, sizeof value);
}

/* The place of the length is known before the length. */
static size_t sqlite_row_log_text_begin(struct buf *b)
{
    uint32_t length = 0;
    sqlite_row_log_put(b, ROW_LOG_TEXT, &length, sizeof length);
    return b->length;
}

static void sqlite_row_log_text_end(struct buf *b, size_t began)
{
    if (buf_failed(b))
        return;
    uint32_t length = (uint32_t)(b->length - began);
    memcpy(b->data + began - sizeof length, &length, sizeof length);
}

void sqlite_row_log_text(struct buf *b, const char *value)
{
    if (!value) {
        sqlite_row_log_null(b);
        return;
    }
    size_t began = sqlite_row_log_text_begin(b);
    buf_utf8(b, value, strlen(value));
    sqlite_row_log_text_end(b, began);
}

size_t sqlite_row_log_json(struct buf *b, struct json_out *j)
{
    size_t began = sqlite_row_log_text_begin(b);
    json_begin(j, b, 0);
    return began;
}

void sqlite_row_log_json_end(struct buf *b, size_t began)
{
    sqlite_row_log_text_end(b, began);
}

static bool sqlite_row_log_take(struct scan *row_log, void *ret, size_t size)
{
    if ((size_t)(row_log->end - row_log->at) < size)
        return false;
    memcpy(ret, row_log->at, size);
    row_log->at += size;
    return true;
}

enum row_log_is sqlite_row_log_next(struct scan *row_log, struct row_log_item *ret)
{
    uint8_t is, number;
    uint32_t length;
    if (!sqlite_row_log_take(row_log, &is, sizeof is))
        return ROW_LOG_END;
    switch (is) {
    case ROW_LOG_ROW:
        if (!sqlite_row_log_take(row_log, &number, sizeof number))
            return ROW_LOG_END;
        ret->statement = number;
        return ROW_LOG_ROW;
    case ROW_LOG_NULL: return ROW_LOG_NULL;
    case ROW_LOG_I64:
        return sqlite_row_log_take(row_log, &ret->i, sizeof ret->i) ? ROW_LOG_I64 : ROW_LOG_END;
    case ROW_LOG_DOUBLE:
        return sqlite_row_log_take(row_log, &ret->d, sizeof ret->d) ? ROW_LOG_DOUBLE : ROW_LOG_END;
    case ROW_LOG_TEXT:
        if (!sqlite_row_log_take(row_log, &length, sizeof length) ||
            (size_t)(row_log->end - row_log->at) < length)
            return ROW_LOG_END;
        ret->text = (struct scan){row_log->at, row_log->at + length};
        row_log->at += length;
        return ROW_LOG_TEXT;
    default: return ROW_LOG_END;
    }
}

/* ==== Sqlite rows ============================================================================= */

/* The values of the columns that an object of the record has. */
static void sqlite_rows_object(struct buf *b, enum record_object object, const void *data,
                               const struct record_context *c)
{
    unsigned count;
    const struct record_key *k = record_keys(object, &count);
    for (const struct record_key *end = k + count; k < end; k++) {
        const void *member = (const char *)data + k->offset;
        struct json_out j;
        if (!*k->column)
            continue;
        if (!record_key_is_set(k, data, c)) {
            sqlite_row_log_null(b);
            continue;
        }
        switch (k->type) {
        case RECORD_NAME:
        case RECORD_OWNED:
        case RECORD_KEPT:
        case RECORD_QUALITY:
        case RECORD_WORD: sqlite_row_log_text(b, record_key_text(k, data)); break;
        case RECORD_COUNT:
        case RECORD_SECONDS:
        case RECORD_TIME:
        case RECORD_FLAG:
        case RECORD_NOT: sqlite_row_log_u64(b, record_key_whole(k, data)); break;
        case RECORD_PID:
        case RECORD_INT: sqlite_row_log_i64(b, *(const int *)member); break;
        case RECORD_REAL6:
        case RECORD_REAL9:
        case RECORD_NUMBER: sqlite_row_log_double(b, *(const double *)member); break;
        case RECORD_SPECIAL:
        case RECORD_MEMBER: {
            size_t began = sqlite_row_log_json(b, &j);
            k->special->write(&j, k->type == RECORD_MEMBER ? member : data, c);
            sqlite_row_log_json_end(b, began);
            break;
        }
        }
    }
}

void sqlite_rows_run(struct buf *b, const struct run *run, const struct selection *selection)
{
    struct json_out j;
    sqlite_row_log_row(b, STATEMENT_RUN);
    sqlite_rows_object(b, RECORD_OBJECT_facts, run, &(struct record_context){.run = run});
    size_t began = sqlite_row_log_json(b, &j);
    json_object(&j);
    record_json_run_line(&j, run, selection);
    json_object_end(&j);
    sqlite_row_log_json_end(b, began);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void sqlite_rows_add_values(struct buf *b, enum entity_kind kind, const struct row *row,
                                   uint64_t selected)
{
    uint64_t known = row->present & selected;
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        if (!(known >> i & 1))
            sqlite_row_log_null(b);
        else if (metric_is_double(metric_of(row->first + i)))
            sqlite_row_log_double(b, row->values[i].d);
        else
            sqlite_row_log_u64(b, row->values[i].u);
    }
}

/* What of the figures is a lower bound, where there is any: a process could not be read. */
static void sqlite_rows_add_bounds(struct buf *b, const struct row *row, uint64_t selected)
{
    struct json_out j;
    if (!(row->at_least & selected)) {
        sqlite_row_log_null(b);
        return;
    }
    size_t began = sqlite_row_log_json(b, &j);
    record_json_bounds(&j, row, selected);
    sqlite_row_log_json_end(b, began);
}

/* A row of the samples of its kind begins. */
static void sqlite_rows_begin_row(struct buf *b, uint64_t tick, unsigned entity,
                                  enum entity_kind kind)
{
    sqlite_row_log_row(b, STATEMENT_ROW + kind);
    sqlite_row_log_u64(b, tick);
    sqlite_row_log_i64(b, entity);
}

static void sqlite_rows_add_row(struct buf *b, uint64_t tick, unsigned entity,
                                enum entity_kind kind, const struct row *row, uint64_t selected)
{
    sqlite_rows_begin_row(b, tick, entity, kind);
    if (kind == ENTITY_PROCESS)
        sqlite_rows_add_bounds(b, row, selected & sqlite_schema_metrics(kind));
    sqlite_rows_add_values(b, kind, row, selected);
}

/* index: as for sqlite_entities_part. */
static void sqlite_rows_add_parts(struct buf *b, struct sqlite_entities *x, const struct frame *f,
                                  const struct run_target *target, size_t index,
                                  const struct selection *selection)
{
    const struct frame_row *parts = target ? f->targets[index].parts : f->target;
    for (unsigned part = 0; part < PARTS; part++) {
        if (!parts[part].row)
            continue;
        sqlite_rows_begin_row(b, f->tick, sqlite_entities_part(x, target, index, part),
                              ENTITY_TARGET);
        if (target && f->targets[index].has_ended)
            sqlite_row_log_i64(b, 1);
        else
            sqlite_row_log_null(b);
        sqlite_rows_add_bounds(b, parts[part].row, selection->parts[part]);
        sqlite_rows_add_values(b, ENTITY_TARGET, parts[part].row, selection->parts[part]);
    }
}

void sqlite_rows_frame(struct buf *b, struct sqlite_rows *rows, const struct frame *f,
                       const struct run *run, const struct selection *selection)
{
    struct sqlite_entities *x = &rows->entities;
    struct record_sample sample = record_sample_of(f, run);
    sqlite_row_log_row(b, STATEMENT_SAMPLE);
    sqlite_row_log_u64(b, rows->seq++);
    sqlite_rows_object(b, RECORD_OBJECT_sample, &sample, NULL);
    sqlite_rows_add_parts(b, x, f, NULL, 0, selection);
    for (size_t i = 0; i < f->target_count; i++)
        sqlite_rows_add_parts(b, x, f, &run->targets[i], i, selection);
    for (size_t i = 0; i < f->machine_count; i++) {
        enum entity_kind kind = f->machine[i]->entity.kind;
        if (selection->of[kind])
            sqlite_rows_add_row(b, f->tick, sqlite_entities_instance(x, f->machine[i]), kind,
                                &f->machine[i]->row, selection->of[kind]);
    }
    sqlite_rows_add_row(b, f->tick, sqlite_entities_self(x), ENTITY_SELF, f->self.row,
                        selection->of[ENTITY_SELF]);
    for (size_t i = 0; i < f->process_count; i++)
        sqlite_rows_add_row(b, f->tick, sqlite_entities_process(x, run, f->processes[i].entity),
                            ENTITY_PROCESS, f->processes[i].row, selection->of[ENTITY_PROCESS]);
}

/* ---- Between samples ------------------------------------------------------------------------- */

void sqlite_rows_process_end(struct buf *b, struct sqlite_rows *rows, const struct process_end *e,
                             const struct run *run, const struct selection *selection)
{
    struct record_context c = {.run = run, .selection = selection};
    const struct entity *entity = &e->process->entity;
    struct record_end end = record_end_of(&e->end);
    uint64_t selected = selection->of[ENTITY_PROCESS];
    struct row copy;
    const struct row *row = process_shown(e->process, &copy);
    sqlite_row_log_row(b, STATEMENT_PROCESS);
    sqlite_row_log_u64(b, rows->seq++);
    sqlite_rows_object(b, RECORD_OBJECT_departure, e, &c);
    unsigned count;
    const struct record_key *k = record_keys(RECORD_OBJECT_end, &count);
    if (e->has_status)
        sqlite_rows_object(b, RECORD_OBJECT_end, &end, &c);
    else
        for (; count; k++, count--)
            if (*k->column)
                sqlite_row_log_null(b);
    sqlite_rows_object(b, RECORD_OBJECT_identity, entity, &c);
    sqlite_rows_add_bounds(b, row, selected & sqlite_schema_metrics(ENTITY_PROCESS));
    sqlite_rows_add_values(b, ENTITY_PROCESS, row, selected);
    sqlite_entities_left(&rows->entities, entity);
}

void sqlite_rows_mark(struct buf *b, struct sqlite_rows *rows, const struct run_mark *m,
                      const struct selection *selection)
{
    unsigned statement = m->phase                ? STATEMENT_PHASE
                         : m->kind == MARK_GAUGE ? STATEMENT_GAUGE
                                                 : STATEMENT_EVENT;
    const struct sqlite_table *t = sqlite_table(statement);
    struct record_mark mark = record_mark_of(m);
    sqlite_row_log_row(b, statement);
    sqlite_row_log_u64(b, rows->seq++);
    for (unsigned i = 0; i < t->object_count; i++)
        sqlite_rows_object(b, t->objects[i], &mark,
                           &(struct record_context){.selection = selection});
}

void sqlite_rows_note(struct buf *b, struct sqlite_rows *rows, uint64_t elapsed_ns,
                      const char *sentence)
{
    sqlite_row_log_row(b, STATEMENT_NOTE);
    sqlite_row_log_u64(b, rows->seq++);
    sqlite_row_log_u64(b, elapsed_ns);
    sqlite_row_log_text(b, sentence);
}

/* ==== Sqlite summary ========================================================================== */

/* What a run came to, as rows of a SQLite file: a row for each figure, and the whole as JSON. */

/* In base units; a figure that is whole stays so. */
static void sqlite_summary_add_value(struct buf *b, bool is_set, const struct metric *m,
                                     union value v)
{
    if (!is_set)
        sqlite_row_log_null(b);
    else if (metric_is_double(m) || m->unit == UNIT_seconds || m->unit == UNIT_joules)
        sqlite_row_log_double(b, metric_number(m, v));
    else
        sqlite_row_log_u64(b, v.u);
}

/* provenance NULL: there is none. */
static void sqlite_summary_add_figure(struct buf *b, unsigned entity, const struct series *s,
                                      const struct metric *m, const struct provenance *provenance)
{
    struct record_figure f = record_figure_of(s, m, provenance, false);
    bool has_max = f.has_rate_max || f.has_extremes;
    sqlite_row_log_row(b, STATEMENT_FIGURE);
    sqlite_row_log_i64(b, entity);
    sqlite_row_log_text(b, m->facts.name);
    sqlite_summary_add_value(b, f.has_total, m, f.value);
    sqlite_summary_add_value(b, f.has_extremes && f.is_observed, m, f.value);
    sqlite_row_log_double(b, f.mean);
    sqlite_row_log_double(b, f.has_extremes ? f.min : NAN);
    sqlite_row_log_double(b, has_max ? f.max : NAN);
    if (f.has_rate_max_at || f.has_max_at)
        sqlite_row_log_u64(b, f.max_at_ns);
    else
        sqlite_row_log_null(b);
    for (unsigned i = 0; i < RECORD_QUANTILES; i++)
        sqlite_row_log_double(b, f.has_quantile[i] ? f.quantiles[i] : NAN);
    sqlite_row_log_text(b, provenance ? quality_word(provenance->quality) : NULL);
    sqlite_row_log_text(b, provenance ? provenance->source : NULL);
    sqlite_row_log_double(b, f.has_at_peak ? f.at_peak : NAN);
}

static void sqlite_summary_add_target(struct buf *b, struct sqlite_entities *x,
                                      const struct target_summary *t,
                                      const struct run_target *target, size_t index,
                                      const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (part != PART_COMBINED && !t->has_parts)
            continue;
        unsigned entity = sqlite_entities_part(x, target, index, part);
        FOR_EACH_BIT(id, selection->parts[part])
        sqlite_summary_add_figure(b, entity, &t->series[part][id], metric_of(id),
                                  &t->provenance[part][id]);
    }
}

static void sqlite_summary_add_instance(struct buf *b, struct sqlite_entities *x,
                                        const struct instance_summary *t, uint64_t selected)
{
    enum metric_id first = metric_first(t->instance->entity.kind);
    unsigned entity = selected ? sqlite_entities_instance(x, t->instance) : 0;
    FOR_EACH_BIT(i, selected)
    {
        const struct metric *m = metric_of(first + i);
        struct provenance v = record_instance_provenance(&t->series[i], m);
        sqlite_summary_add_figure(b, entity, &t->series[i], m, &v);
    }
}

void sqlite_summary(struct buf *b, struct sqlite_rows *rows, const struct summary *s,
                    const struct selection *selection)
{
    struct sqlite_entities *x = &rows->entities;
    struct json_out j;
    if (s->has_target)
        sqlite_summary_add_target(b, x, &s->whole, NULL, 0, selection);
    for (size_t i = 0; i < s->target_count; i++)
        sqlite_summary_add_target(b, x, &s->targets[i], &s->run->targets[i], i, selection);
    for (size_t i = 0; i < s->instance_count; i++)
        if (s->instances[i].instance)
            sqlite_summary_add_instance(b, x, &s->instances[i],
                                        selection->of[s->instances[i].instance->entity.kind]);
    unsigned self = sqlite_entities_self(x);
    FOR_EACH_BIT(i, selection->of[ENTITY_SELF])
    sqlite_summary_add_figure(b, self, &s->self[i], metric_of(metric_first(ENTITY_SELF) + i), NULL);
    sqlite_row_log_row(b, STATEMENT_RUN_END);
    sqlite_rows_object(b, RECORD_OBJECT_result, s, NULL);
    struct record_end end = record_end_of(&s->whole.end);
    sqlite_row_log_text(b, record_words_end[end.status]);
    end.has_code ? sqlite_row_log_i64(b, end.code) : sqlite_row_log_null(b);
    end.has_signal ? sqlite_row_log_i64(b, end.signal) : sqlite_row_log_null(b);
    size_t began = sqlite_row_log_json(b, &j);
    json_object(&j);
    record_json_summary(&j, s, selection);
    json_object_end(&j);
    sqlite_row_log_json_end(b, began);
}

/* ==== Sqlite entities ========================================================================= */

struct known_process {
    uint64_t looks; /* a hash of its description */
    unsigned entity;
    pid_t pid;
};

void sqlite_entities_done(struct sqlite_entities *x)
{
    buf_done(&x->met);
    free(x->instances);
    map_done(&x->pids);
    free(x->known);
}

static unsigned sqlite_entities_next(struct sqlite_entities *x)
{
    if (!x->next)
        x->next = SQLITE_ENTITY_OTHERS;
    return x->next++;
}

/* A row of the table entities up to the name; what follows is added by the caller. */
static void sqlite_entities_describe(struct sqlite_entities *x, unsigned number,
                                     enum entity_kind kind, const char *part, const char *name)
{
    sqlite_row_log_row(&x->met, STATEMENT_ENTITY);
    sqlite_row_log_i64(&x->met, number);
    sqlite_row_log_text(&x->met, entity_kind_name(kind));
    sqlite_row_log_text(&x->met, part);
    sqlite_row_log_text(&x->met, name);
}

static void sqlite_entities_no_process(struct buf *b)
{
    for (unsigned i = 0; i < 4; i++) /* pid, parent, start, targets */
        sqlite_row_log_null(b);
}

/* ---- Targets, toll and the machine ----------------------------------------------------------- */

static unsigned sqlite_entities_fixed(struct sqlite_entities *x, unsigned number,
                                      enum entity_kind kind, const char *part)
{
    if (x->fixed >> number & 1)
        return number;
    x->fixed |= BIT(number);
    sqlite_entities_describe(x, number, kind, part, "");
    sqlite_entities_no_process(&x->met);
    sqlite_row_log_null(&x->met);
    return number;
}

unsigned sqlite_entities_part(struct sqlite_entities *x, const struct run_target *target,
                              size_t index, enum part part)
{
    if (!target || index >= SQLITE_TARGETS_AT_MOST)
        return sqlite_entities_fixed(x, SQLITE_ENTITY_COMBINED + part, ENTITY_TARGET,
                                     part_name(part));
    unsigned *number = &x->targets[index][part];
    if (*number)
        return *number;
    *number = sqlite_entities_next(x);
    sqlite_entities_describe(x, *number, ENTITY_TARGET, part_name(part), target->name);
    sqlite_entities_no_process(&x->met);
    sqlite_row_log_null(&x->met);
    return *number;
}

unsigned sqlite_entities_self(struct sqlite_entities *x)
{
    return sqlite_entities_fixed(x, SQLITE_ENTITY_SELF, ENTITY_SELF, "");
}

static void sqlite_entities_add_labels(struct buf *b, const struct entity *e)
{
    struct json_out j;
    if (!e->labels[0].key) {
        sqlite_row_log_null(b);
        return;
    }
    size_t began = sqlite_row_log_json(b, &j);
    json_object(&j);
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        json_put_string(&j, e->labels[i].key, e->labels[i].value);
    json_object_end(&j);
    sqlite_row_log_json_end(b, began);
}

unsigned sqlite_entities_instance(struct sqlite_entities *x, const struct instance *m)
{
    if (m->entity.kind == ENTITY_SYSTEM)
        return sqlite_entities_fixed(x, SQLITE_ENTITY_SYSTEM, ENTITY_SYSTEM, "");
    if (!ARRAY_RESERVE(x->instances, x->instance_capacity, (size_t)m->number + 1)) {
        x->met.failed = true;
        return 0;
    }
    unsigned *place = &x->instances[m->number];
    if (*place)
        return *place;
    *place = sqlite_entities_next(x);
    sqlite_entities_describe(x, *place, m->entity.kind, "", entity_name(&m->entity));
    sqlite_entities_no_process(&x->met);
    sqlite_entities_add_labels(&x->met, &m->entity);
    return *place;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static uint64_t sqlite_entities_mix(uint64_t hash, const void *data, size_t length)
{
    for (const unsigned char *at = data, *end = at + length; at < end; at++)
        hash = (hash ^ *at) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

/* The names of the targets it belongs to as a value, unknown where there are not several. */
static void sqlite_entities_targets(struct buf *b, const struct run *run, uint64_t targets)
{
    struct json_out j;
    if (!run || run->target_count <= 1) {
        sqlite_row_log_null(b);
        return;
    }
    size_t began = sqlite_row_log_json(b, &j);
    json_array(&j);
    for (size_t i = 0; i < run->target_count; i++)
        if (targets >> i & 1)
            json_string(&j, run->targets[i].name);
    json_array_end(&j);
    sqlite_row_log_json_end(b, began);
}

unsigned sqlite_entities_process(struct sqlite_entities *x, const struct run *run,
                                 const struct entity *e)
{
    uint64_t looks = sqlite_entities_mix(UINT64_C(0xcbf29ce484222325), e->name, strlen(e->name));
    looks = sqlite_entities_mix(looks, &e->start_ticks, sizeof e->start_ticks);
    looks = sqlite_entities_mix(looks, &e->parent, sizeof e->parent);
    looks = sqlite_entities_mix(looks, &e->targets, sizeof e->targets);
    uint32_t at;
    struct known_process *k = map_get(&x->pids, (uint32_t)e->pid, &at) ? &x->known[at] : NULL;
    if (k && k->looks == looks)
        return k->entity;
    /* Without memory for it, the process is described again in the next sample. */
    if (!k && ARRAY_RESERVE(x->known, x->known_capacity, x->known_count + 1) &&
        map_put(&x->pids, (uint32_t)e->pid, (uint32_t)x->known_count) == 0)
        k = &x->known[x->known_count++];
    unsigned number = sqlite_entities_next(x);
    if (k)
        *k = (struct known_process){looks, number, e->pid};
    sqlite_entities_describe(x, number, ENTITY_PROCESS, "", e->name);
    sqlite_row_log_i64(&x->met, e->pid);
    sqlite_row_log_i64(&x->met, e->parent);
    sqlite_row_log_u64(&x->met, e->start_ticks);
    sqlite_entities_targets(&x->met, run, e->targets);
    sqlite_row_log_null(&x->met);
    return number;
}

void sqlite_entities_left(struct sqlite_entities *x, const struct entity *e)
{
    uint32_t at;
    if (!map_get(&x->pids, (uint32_t)e->pid, &at))
        return;
    map_remove(&x->pids, (uint32_t)e->pid);
    struct known_process *last = &x->known[--x->known_count];
    if (at == x->known_count)
        return;
    x->known[at] = *last;
    map_put(&x->pids, (uint32_t)last->pid, at); /* replaces what is there: needs no memory */
}
