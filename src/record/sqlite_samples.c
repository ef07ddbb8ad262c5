/* SPDX-License-Identifier: MIT */
#include "record/sqlite_samples.h"

#include "record/sqlite_json.h"
#include "sink/record_json.h"

/* What stands before the metrics. */
enum {
    AT_PART,
    AT_NAME,
    AT_LABELS,
    AT_PID,
    AT_PARENT,
    AT_START,
    AT_TARGETS,
    AT_FIGURES,
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

static int prepare(struct sqlite_samples *x, struct sqlite *db, enum entity_kind kind,
                   struct toll_error *e)
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
    sqlite_figures_find(&x->of[kind].figures, *st, kind, AT_FIGURES,
                        "run tick entity ended lower_bound");
    x->of[kind].ended = sqlite_column_called(*st, "ended", AT_FIGURES);
    x->of[kind].lower_bound = sqlite_column_called(*st, "lower_bound", AT_FIGURES);
    return 0;
}

int sqlite_samples_init(struct sqlite_samples *x, struct sqlite *db, struct toll_error *e)
{
    int r = 0;
    for (unsigned kind = 0; kind <= ENTITY_TARGET && r >= 0; kind++) {
        r = has_table(db, kind, e);
        if (r > 0)
            r = prepare(x, db, kind, e);
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

static void add_parts(struct json_out *j, const struct target_rows *t,
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
        add_parts(j, &t[0], s->selection);
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
        add_parts(j, &t[i + 1], s->selection);
        json_object_end(j);
    }
    json_array_end(j);
}

static int add_targets(struct sqlite_samples *x, struct json_out *j, const struct sqlite_sample *s,
                       struct toll_error *e)
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
            &all[target_called(s->facts, sqlite_column_text(st, AT_NAME, &length))];
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
static void add_labels(struct json_out *j, const struct sqlite_statement *st)
{
    size_t length;
    const char *labels = sqlite_column_text(st, AT_LABELS, &length);
    if (length > 2)
        json_raw(j, labels + 1, length - 2);
}

static void add_thing(struct json_out *j, struct sqlite_samples *x, enum entity_kind kind,
                      const struct row *row, uint64_t selected)
{
    const struct sqlite_statement *st = x->of[kind].statement;
    json_object(j);
    if (kind != ENTITY_SYSTEM) {
        sqlite_json_text(j, "name", st, AT_NAME);
        add_labels(j, st);
    }
    record_json_row(j, row, selected & row->present);
    add_unknown(j, x, kind);
    json_object_end(j);
}

static void add_process(struct json_out *j, struct sqlite_samples *x, const struct row *row,
                        uint64_t selected)
{
    const struct sqlite_statement *st = x->of[ENTITY_PROCESS].statement;
    json_object(j);
    sqlite_json_value(j, "pid", st, AT_PID);
    sqlite_json_value(j, "parent", st, AT_PARENT);
    sqlite_json_value(j, "start_ticks", st, AT_START);
    sqlite_json_text(j, "name", st, AT_NAME);
    if (sqlite_column_type(st, AT_TARGETS) != SQLITE_IS_NULL)
        sqlite_json_raw(j, "targets", st, AT_TARGETS);
    record_json_row(j, row, selected & ~metric_fold_mask(FOLD_WHOLE));
    sqlite_json_bounds(j, st, x->of[ENTITY_PROCESS].lower_bound);
    add_unknown(j, x, ENTITY_PROCESS);
    json_object_end(j);
}

/* All of a kind, in the order in which they came up first. */
static int add_kind(struct sqlite_samples *x, struct json_out *j, enum entity_kind kind,
                    const struct sqlite_sample *s, struct toll_error *e)
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
            add_process(j, x, &row, s->selection->of[kind]);
        else
            add_thing(j, x, kind, &row, s->selection->of[kind]);
    }
    if (any && !alone)
        json_array_end(j);
    return r;
}

static int add_self(struct sqlite_samples *x, struct json_out *j, const struct sqlite_sample *s,
                    struct toll_error *e)
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
    int r = add_targets(x, &j, s, e);
    for (unsigned kind = 0; kind < ENTITY_KINDS && r >= 0; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SELF)
            r = add_kind(x, &j, kind, s, e);
    if (r >= 0)
        r = add_self(x, &j, s, e);
    if (r >= 0)
        r = add_kind(x, &j, ENTITY_PROCESS, s, e);
    json_object_end(&j);
    return r < 0 ? r : 0;
}
