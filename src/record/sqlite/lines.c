/* SPDX-License-Identifier: MIT */
#include "record/sqlite/lines.h"

#include "base/io/sqlite.h"
#include "base/text/json.h"
#include "record/sqlite/schema.h"
#include "record/write.h"

#include <math.h>

/* A column of the row that is there as a member of the object that is open. */

static inline void sqlite_json_text(struct json_out *j, const char *key,
                                    const struct sqlite_statement *st, int at)
{
    size_t length;
    const char *text = sqlite_column_text(st, at, &length);
    json_key(j, key);
    if (sqlite_column_type(st, at) == SQLITE_IS_TEXT)
        json_string_n(j, text, length);
    else
        json_null(j); /* no name is a number */
}

/* It is JSON already. */
static inline void sqlite_json_raw(struct json_out *j, const char *key,
                                   const struct sqlite_statement *st, int at)
{
    size_t length;
    const char *text = sqlite_column_text(st, at, &length);
    json_key(j, key);
    json_raw(j, text, length);
}

/* The column "lower_bound", where the file has one, as that member; it is JSON too. */
static inline void sqlite_json_bounds(struct json_out *j, const struct sqlite_statement *st, int at)
{
    if (at >= 0 && sqlite_column_type(st, at) != SQLITE_IS_NULL)
        sqlite_json_raw(j, "lower_bound", st, at);
}

/* The value as the type that it has; the reader of the line refuses one that does not fit. */
static inline void sqlite_json_value(struct json_out *j, const char *key,
                                     const struct sqlite_statement *st, int at)
{
    json_key(j, key);
    switch (sqlite_column_type(st, at)) {
    case SQLITE_IS_NULL: json_null(j); break;
    case SQLITE_IS_INTEGER: json_i64(j, sqlite_column_i64(st, at)); break;
    case SQLITE_IS_FLOAT: json_number(j, sqlite_column_double(st, at)); break;
    case SQLITE_IS_TEXT: json_string(j, ""); break; /* never a number */
    }
}

/* ==== Sqlite samples ========================================================================== */

/* What stands before the metrics. */
enum {
    AT_PART,
    SQLITE_SAMPLES_AT_NAME,
    AT_LABELS,
    SQLITE_SAMPLES_AT_PID,
    SQLITE_SAMPLES_AT_PARENT,
    SQLITE_SAMPLES_AT_START,
    SQLITE_SAMPLES_AT_TARGETS,
    SQLITE_SAMPLES_AT_FIGURES,
};

/* ---- Statements ------------------------------------------------------------------------------ */

static int has_table(struct sqlite *db, enum entity_kind kind, struct toll_error *e)
{
    struct buf name = {0};
    buf_printf(&name, "%s_samples", entity_kind_name(kind));
    int r = buf_failed(&name) ? err_set(e, -ENOMEM, "no memory to read a record")
                              : sqlite_find_table(db, name.data, e);
    buf_done(&name);
    return r;
}

static int sqlite_samples_prepare(struct sqlite_samples *x, struct sqlite *db,
                                  enum entity_kind kind, struct toll_error *e)
{
    struct buf sql = {0};
    struct sqlite_statement **st = &x->of[kind].statement;
    buf_printf(&sql,
               "SELECT e.part, e.name, e.labels, e.pid, e.parent, e.start_ticks, e.targets, s.* "
               "FROM %s_samples s CROSS JOIN entities e ON e.run = s.run AND e.entity = s.entity "
               "WHERE s.run = ?1 AND s.tick = ?2 ORDER BY s.entity",
               entity_kind_name(kind));
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "no memory to read a record")
                             : sqlite_prepare(st, db, sql.data, e);
    buf_done(&sql);
    if (r < 0)
        return r;
    sqlite_figures_find(&x->of[kind].figures, *st, kind, SQLITE_SAMPLES_AT_FIGURES,
                        "run tick entity ended lower_bound");
    x->of[kind].ended = sqlite_column_called(*st, "ended", SQLITE_SAMPLES_AT_FIGURES);
    x->of[kind].lower_bound = sqlite_column_called(*st, "lower_bound", SQLITE_SAMPLES_AT_FIGURES);
    return 0;
}

int sqlite_samples_init(struct sqlite_samples *x, struct sqlite *db, struct toll_error *e)
{
    int r = 0;
    for (unsigned kind = 0; kind <= ENTITY_TARGET && r >= 0; kind++) {
        r = has_table(db, kind, e);
        if (r > 0)
            r = sqlite_samples_prepare(x, db, kind, e);
    }
    return r;
}

void sqlite_samples_done(struct sqlite_samples *x)
{
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        sqlite_end(x->of[kind].statement);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* 1: the first or the next row of that kind is there. */
static int next_row(struct sqlite_samples *x, enum entity_kind kind, const struct sqlite_sample *s,
                    bool is_first, struct row *ret, struct toll_error *e)
{
    struct sqlite_statement *st = x->of[kind].statement;
    if (!st)
        return 0;
    if (is_first) {
        sqlite_bind_i64(st, 1, s->run);
        sqlite_bind_i64(st, 2, (int64_t)s->tick);
    }
    int r = sqlite_step(st, e);
    if (r > 0 && !sqlite_figures_take(&x->of[kind].figures, st, ret))
        return err_set(e, -EBADMSG, "a figure of tick %lld of run %lld is below zero, or no number",
                       (long long)s->tick, (long long)s->run);
    return r;
}

static void add_unknown(struct json_out *j, const struct sqlite_samples *x, enum entity_kind kind)
{
    const char *name = sqlite_figures_unknown(&x->of[kind].figures, x->of[kind].statement);
    if (!name)
        return;
    json_key(j, name); /* whoever reads it will say that it means nothing */
    json_null(j);
}

/* ---- Targets --------------------------------------------------------------------------------- */

struct target_rows {
    struct row rows[PARTS];
    struct buf bounds[PARTS]; /* owned: "lower_bound" as a member, or empty */
    bool has[PARTS];
    bool has_ended;
};

static void free_targets(struct target_rows *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned part = 0; part < PARTS; part++)
            buf_done(&all[i].bounds[part]);
    free(all);
}

static int part_called(const char *name)
{
    for (unsigned part = 0; part < PARTS; part++)
        if (strcmp(name, part_name(part)) == 0)
            return (int)part;
    return -1;
}

/* 0 is all of them together. */
static size_t target_called(const struct run *run, const char *name)
{
    for (size_t i = 0; i < run->target_count && *name; i++)
        if (strcmp(run->targets[i].name, name) == 0)
            return i + 1;
    return 0;
}

static void sqlite_samples_add_parts(struct json_out *j, const struct target_rows *t,
                                     const struct selection *selection)
{
    for (unsigned part = 0; part < PARTS; part++) {
        if (!t->has[part])
            continue;
        json_key(j, part_name(part));
        json_object(j);
        record_json_row(j, &t->rows[part], selection->parts[part]);
        if (t->bounds[part].length) {
            json_key(j, "lower_bound");
            json_raw(j, t->bounds[part].data, t->bounds[part].length);
        }
        json_object_end(j);
    }
}

static void write_targets(struct json_out *j, const struct target_rows *t,
                          const struct sqlite_sample *s)
{
    if (t[0].has[PART_COMBINED]) {
        json_key(j, "target");
        json_object(j);
        sqlite_samples_add_parts(j, &t[0], s->selection);
        json_object_end(j);
    }
    if (s->facts->target_count <= 1)
        return;
    json_key(j, "targets");
    json_array(j);
    for (size_t i = 0; i < s->facts->target_count; i++) {
        json_object(j);
        json_put_string(j, "name", s->facts->targets[i].name);
        if (t[i + 1].has_ended)
            json_put_bool(j, "ended", true);
        sqlite_samples_add_parts(j, &t[i + 1], s->selection);
        json_object_end(j);
    }
    json_array_end(j);
}

static int sqlite_samples_add_targets(struct sqlite_samples *x, struct json_out *j,
                                      const struct sqlite_sample *s, struct toll_error *e)
{
    const struct sqlite_statement *st = x->of[ENTITY_TARGET].statement;
    size_t count = s->facts->target_count + 1, length;
    struct target_rows *all = calloc(count, sizeof *all);
    struct row row;
    int r, ended = x->of[ENTITY_TARGET].ended, bounds = x->of[ENTITY_TARGET].lower_bound;
    if (!all)
        return err_set(e, -ENOMEM, "no memory to read a record");
    for (bool first = true; (r = next_row(x, ENTITY_TARGET, s, first, &row, e)) > 0;
         first = false) {
        int part = part_called(sqlite_column_text(st, AT_PART, &length));
        struct target_rows *t =
            &all[target_called(s->facts, sqlite_column_text(st, SQLITE_SAMPLES_AT_NAME, &length))];
        if (part < 0)
            continue;
        t->rows[part] = row;
        t->has[part] = true;
        t->has_ended |= ended >= 0 && sqlite_column_i64(st, ended) > 0;
        buf_clear(&t->bounds[part]);
        if (bounds >= 0 && sqlite_column_type(st, bounds) != SQLITE_IS_NULL) {
            const char *text = sqlite_column_text(st, bounds, &length);
            buf_add(&t->bounds[part], text, length);
        }
        if (buf_failed(&t->bounds[part])) {
            r = err_set(e, -ENOMEM, "no memory to read a record");
            break;
        }
    }
    if (r == 0)
        write_targets(j, all, s);
    free_targets(all, count);
    return r;
}

/* ---- Things and processes -------------------------------------------------------------------- */

/* {"class":"ssd"} as members of the object that is open. */
static void sqlite_samples_add_labels(struct json_out *j, const struct sqlite_statement *st)
{
    size_t length;
    const char *labels = sqlite_column_text(st, AT_LABELS, &length);
    if (length > 2)
        json_raw(j, labels + 1, length - 2);
}

static void sqlite_samples_add_instance(struct json_out *j, struct sqlite_samples *x,
                                        enum entity_kind kind, const struct row *row,
                                        uint64_t selected)
{
    const struct sqlite_statement *st = x->of[kind].statement;
    json_object(j);
    if (kind != ENTITY_SYSTEM) {
        sqlite_json_text(j, "name", st, SQLITE_SAMPLES_AT_NAME);
        sqlite_samples_add_labels(j, st);
    }
    record_json_row(j, row, selected & row->present);
    add_unknown(j, x, kind);
    json_object_end(j);
}

static void sqlite_samples_add_process(struct json_out *j, struct sqlite_samples *x,
                                       const struct row *row, uint64_t selected)
{
    const struct sqlite_statement *st = x->of[ENTITY_PROCESS].statement;
    json_object(j);
    sqlite_json_value(j, "pid", st, SQLITE_SAMPLES_AT_PID);
    sqlite_json_value(j, "parent", st, SQLITE_SAMPLES_AT_PARENT);
    sqlite_json_value(j, "start_ticks", st, SQLITE_SAMPLES_AT_START);
    sqlite_json_text(j, "name", st, SQLITE_SAMPLES_AT_NAME);
    if (sqlite_column_type(st, SQLITE_SAMPLES_AT_TARGETS) != SQLITE_IS_NULL)
        sqlite_json_raw(j, "targets", st, SQLITE_SAMPLES_AT_TARGETS);
    record_json_row(j, row, selected & ~metric_fold_mask(FOLD_WHOLE));
    sqlite_json_bounds(j, st, x->of[ENTITY_PROCESS].lower_bound);
    add_unknown(j, x, ENTITY_PROCESS);
    json_object_end(j);
}

/* All of a kind, in the order in which they came up first. */
static int sqlite_samples_add_kind(struct sqlite_samples *x, struct json_out *j,
                                   enum entity_kind kind, const struct sqlite_sample *s,
                                   struct toll_error *e)
{
    bool any = false, alone = kind == ENTITY_SYSTEM;
    struct row row;
    int r;
    while ((r = next_row(x, kind, s, !any, &row, e)) > 0) {
        if (!any) {
            json_key(j, entity_kind_plural(kind));
            if (!alone)
                json_array(j);
        } else if (alone) {
            return err_set(e, -EBADMSG, "tick %lld of run %lld has several rows of the machine",
                           (long long)s->tick, (long long)s->run);
        }
        any = true;
        if (kind == ENTITY_PROCESS)
            sqlite_samples_add_process(j, x, &row, s->selection->of[kind]);
        else
            sqlite_samples_add_instance(j, x, kind, &row, s->selection->of[kind]);
    }
    if (any && !alone)
        json_array_end(j);
    return r;
}

static int sqlite_samples_add_self(struct sqlite_samples *x, struct json_out *j,
                                   const struct sqlite_sample *s, struct toll_error *e)
{
    struct row row;
    int r = next_row(x, ENTITY_SELF, s, true, &row, e);
    if (r <= 0)
        return r;
    json_key(j, "self");
    json_object(j);
    record_json_row(j, &row, s->selection->of[ENTITY_SELF]);
    add_unknown(j, x, ENTITY_SELF);
    json_object_end(j);
    return 0;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int sqlite_samples_add(struct sqlite_samples *x, struct buf *b, const struct sqlite_sample *s,
                       struct toll_error *e)
{
    struct json_out j;
    json_begin(&j, b, 0);
    json_object(&j);
    json_put_string(&j, "type", "sample");
    json_put_u64(&j, "tick", s->tick);
    json_put_utc(&j, "time", s->time_ns);
    json_put_seconds(&j, "unix_seconds", s->time_ns);
    json_put_seconds(&j, "elapsed_seconds", s->elapsed_ns);
    json_put_seconds(&j, "interval_seconds", s->interval_ns);
    if (s->is_last)
        json_put_bool(&j, "last", true);
    if (s->is_between)
        json_put_bool(&j, "between", true);
    if (s->gpu_count)
        json_put_u64(&j, "gpu_count", s->gpu_count);
    int r = sqlite_samples_add_targets(x, &j, s, e);
    for (unsigned kind = 0; kind < ENTITY_KINDS && r >= 0; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SELF)
            r = sqlite_samples_add_kind(x, &j, kind, s, e);
    if (r >= 0)
        r = sqlite_samples_add_self(x, &j, s, e);
    if (r >= 0)
        r = sqlite_samples_add_kind(x, &j, ENTITY_PROCESS, s, e);
    json_object_end(&j);
    return r < 0 ? r : 0;
}

/* ==== Sqlite figures ========================================================================== */

static int sqlite_figures_metric_called(enum entity_kind kind, const char *column)
{
    struct buf name = {0};
    int found = COLUMN_IS_UNKNOWN;
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        buf_clear(&name);
        sqlite_schema_column(&name, metric_of(metric_first(kind) + i));
        if (!buf_failed(&name) && strcmp(name.data, column) == 0)
            found = (int)i;
    }
    buf_done(&name);
    return found;
}

static bool is_among(const char *word, const char *words)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, const char *others)
{
    int columns = sqlite_columns(st);
    f->kind = kind;
    f->columns = columns < SQLITE_COLUMNS_AT_MOST ? columns : SQLITE_COLUMNS_AT_MOST;
    for (int i = 0; i < f->columns; i++) {
        const char *name = sqlite_column_name(st, i);
        f->of[i] = i < first || is_among(name, others) ? COLUMN_IS_NO_METRIC
                                                       : sqlite_figures_metric_called(kind, name);
    }
}

bool sqlite_figures_take(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret)
{
    row_init(ret, f->kind);
    for (int i = 0; i < f->columns; i++) {
        if (f->of[i] < 0 || sqlite_column_type(st, i) == SQLITE_IS_NULL)
            continue;
        enum metric_id id = ret->first + (unsigned)f->of[i];
        uint64_t whole;
        double number = sqlite_column_double(st, i);
        if (!metric_is_double(metric_of(id)) && sqlite_column_u64(st, i, &whole))
            row_put_u64(ret, id, whole);
        else if (metric_is_double(metric_of(id)) && isfinite(number) &&
                 sqlite_column_type(st, i) != SQLITE_IS_TEXT)
            row_put_double(ret, id, number);
        else
            return false;
    }
    return true;
}

const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st)
{
    for (int i = 0; i < f->columns; i++)
        if (f->of[i] == COLUMN_IS_UNKNOWN && sqlite_column_type(st, i) != SQLITE_IS_NULL)
            return sqlite_column_name(st, i);
    return NULL;
}

/* ==== Sqlite lines ============================================================================ */

/* Columns that several have behind seq; each has its own behind them. */
enum {
    AT_ELAPSED = 1,
    SQLITE_LINES_AT_NAME,
    SQLITE_LINES_AT_PID,
    AT_ATTRIBUTES,
    AT_VALUE = AT_ATTRIBUTES
};
enum {
    AT_BEGIN = AT_ATTRIBUTES + 1,
    AT_END,
    AT_ENDED,
    AT_WHOSE,
    AT_LOOKS,
    SQLITE_LINES_AT_FIGURES
};
enum { AT_SENTENCE = 2 };
enum {
    SQLITE_LINES_AT_PARENT = 4,
    SQLITE_LINES_AT_START,
    SQLITE_LINES_AT_TARGETS,
    AT_HOW,
    AT_STATUS,
    AT_CODE,
    AT_SIGNAL,
    AT_CORE_DUMPED,
    AT_OOM_KILLED,
    AT_TIMED_OUT,
    AT_ALL,
};

#define BEHIND(table) " FROM " table " WHERE run = ?1 ORDER BY "

const char *sqlite_lines_question(enum sqlite_stream stream)
{
    static const char *const questions[STREAMS] = {
        [STREAM_SAMPLES] = "SELECT seq, tick, time_ns, elapsed_ns, interval_ns, *" BEHIND(
            "samples") "tick",
        [STREAM_PROCESSES] =
            "SELECT seq, elapsed_ns, name, pid, parent, start_ticks, targets, how, "
            "status, code, signal, core_dumped, oom_killed, timed_out, *" BEHIND("processes") "seq",
        [STREAM_PHASES] = "SELECT seq, elapsed_ns, name, pid, attributes, begin_ns, end_ns, ended, "
                          "whose, looks, figures" BEHIND("phases") "seq",
        [STREAM_EVENTS] = "SELECT seq, elapsed_ns, name, pid, attributes" BEHIND("events") "seq",
        [STREAM_GAUGES] = "SELECT seq, elapsed_ns, name, pid, value" BEHIND("gauges") "seq",
        [STREAM_NOTES] = "SELECT seq, elapsed_ns, sentence" BEHIND("notes") "seq",
    };
    return questions[stream];
}

void sqlite_lines_figures(struct sqlite_figures *ret, const struct sqlite_statement *st)
{
    sqlite_figures_find(ret, st, ENTITY_PROCESS, AT_ALL,
                        "run seq elapsed_ns how status code signal core_dumped oom_killed "
                        "timed_out pid parent start_ticks name targets lower_bound");
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* A text, which no line may have there, when it is no time. */
static void sqlite_lines_add_seconds(struct json_out *j, const char *key,
                                     const struct sqlite_statement *st, int at)
{
    uint64_t ns;
    json_key(j, key);
    if (sqlite_column_u64(st, at, &ns))
        json_seconds(j, ns);
    else
        json_string(j, "");
}

static void add_bool(struct json_out *j, const char *key, const struct sqlite_statement *st, int at)
{
    uint64_t yes;
    json_key(j, key);
    if (sqlite_column_u64(st, at, &yes))
        json_bool(j, yes);
    else
        json_string(j, "");
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void sqlite_lines_add_end(struct json_out *j, const struct sqlite_statement *st)
{
    json_key(j, "end");
    if (sqlite_column_type(st, AT_STATUS) == SQLITE_IS_NULL) {
        json_null(j);
        return;
    }
    json_object(j);
    sqlite_json_text(j, "status", st, AT_STATUS);
    sqlite_json_value(j, "code", st, AT_CODE);
    sqlite_json_value(j, "signal", st, AT_SIGNAL);
    add_bool(j, "core_dumped", st, AT_CORE_DUMPED);
    add_bool(j, "oom_killed", st, AT_OOM_KILLED);
    add_bool(j, "timed_out", st, AT_TIMED_OUT);
    json_object_end(j);
}

static bool sqlite_lines_add_process(struct json_out *j, const struct sqlite_statement *st,
                                     const struct sqlite_figures *figures,
                                     const struct selection *selection)
{
    const char *unknown = sqlite_figures_unknown(figures, st);
    struct row row;
    if (!sqlite_figures_take(figures, st, &row))
        return false;
    sqlite_json_text(j, "left", st, AT_HOW);
    sqlite_lines_add_end(j, st);
    sqlite_json_value(j, "pid", st, SQLITE_LINES_AT_PID);
    sqlite_json_value(j, "parent", st, SQLITE_LINES_AT_PARENT);
    sqlite_json_value(j, "start_ticks", st, SQLITE_LINES_AT_START);
    sqlite_json_text(j, "name", st, SQLITE_LINES_AT_NAME);
    if (sqlite_column_type(st, SQLITE_LINES_AT_TARGETS) != SQLITE_IS_NULL)
        sqlite_json_raw(j, "targets", st, SQLITE_LINES_AT_TARGETS);
    record_json_row(j, &row, selection->of[ENTITY_PROCESS] & ~metric_fold_mask(FOLD_WHOLE));
    sqlite_json_bounds(j, st, sqlite_column_called(st, "lower_bound", AT_ALL));
    if (unknown) {
        json_key(j, unknown);
        json_null(j);
    }
    return true;
}

static void sqlite_lines_add_phase(struct json_out *j, const struct sqlite_statement *st)
{
    sqlite_lines_add_seconds(j, "begin_seconds", st, AT_BEGIN);
    sqlite_lines_add_seconds(j, "end_seconds", st, AT_END);
    add_bool(j, "ended", st, AT_ENDED);
    sqlite_json_text(j, "of", st, AT_WHOSE);
    sqlite_json_value(j, "looks", st, AT_LOOKS);
    sqlite_json_raw(j, "figures", st, SQLITE_LINES_AT_FIGURES);
}

static void sqlite_lines_add_mark(struct json_out *j, enum sqlite_stream stream,
                                  const struct sqlite_statement *st)
{
    sqlite_json_text(j, "name", st, SQLITE_LINES_AT_NAME);
    sqlite_json_value(j, "pid", st, SQLITE_LINES_AT_PID);
    if (stream == STREAM_GAUGES)
        sqlite_json_value(j, "value", st, AT_VALUE);
    else
        sqlite_json_raw(j, "attributes", st, AT_ATTRIBUTES);
    if (stream == STREAM_PHASES)
        sqlite_lines_add_phase(j, st);
}

bool sqlite_lines_add(struct buf *b, enum sqlite_stream stream, const struct sqlite_statement *st,
                      const struct sqlite_figures *figures, const struct selection *selection)
{
    static const char *const types[STREAMS] = {
        [STREAM_PROCESSES] = "process", [STREAM_PHASES] = "phase", [STREAM_EVENTS] = "event",
        [STREAM_GAUGES] = "gauge",      [STREAM_NOTES] = "event",
    };
    struct json_out j;
    bool is_good = true;
    json_begin(&j, b, 0);
    json_object(&j);
    json_put_string(&j, "type", types[stream]);
    sqlite_lines_add_seconds(&j, "elapsed_seconds", st, AT_ELAPSED);
    if (stream == STREAM_PROCESSES) {
        is_good = sqlite_lines_add_process(&j, st, figures, selection);
    } else if (stream == STREAM_NOTES) {
        json_put_string(&j, "name", "note");
        sqlite_json_text(&j, "text", st, AT_SENTENCE);
    } else {
        sqlite_lines_add_mark(&j, stream, st);
    }
    json_object_end(&j);
    return is_good;
}
