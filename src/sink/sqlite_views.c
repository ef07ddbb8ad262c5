/* SPDX-License-Identifier: MIT */
#include "sink/sqlite_views.h"

#include "sink/sqlite_schema.h"
#include "summary/phase_figures.h"

/* "t.cpu_ns / 1e9 AS target_cpu_seconds" */
static void add_metric(struct buf *b, char table, const struct metric *m, const char *lead)
{
    buf_printf(b, ", %c.", table);
    sqlite_schema_column(b, m);
    if (m->unit == UNIT_seconds || m->unit == UNIT_joules)
        buf_puts(b, m->unit == UNIT_seconds ? " / 1e9" : " / 1e6");
    buf_printf(b, " AS %s%s%s", lead, *lead ? "_" : "", m->facts.name);
}

static void add_metrics(struct buf *b, char table, enum entity_kind kind, const char *lead)
{
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    add_metric(b, table, metric_of(metric_first(kind) + i), lead);
}

static void begin(struct buf *b, const char *before, const char *name)
{
    buf_printf(b, "DROP VIEW IF EXISTS %s%s; CREATE VIEW %s%s AS SELECT ", before, name, before,
               name);
}

/* Cut, not rounded, to milliseconds, as in the other formats. */
#define TIME_OF_DAY(ns)                                                                            \
    "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', " ns " / 1000000 / 1000.0, 'unixepoch')"

/* ---- All that a sample has in one row, as in CSV --------------------------------------------- */

static void add_timeline(struct buf *b)
{
    static const struct {
        char table;
        enum entity_kind kind;
        const char *lead;
        unsigned entity;
    } joined[] = {
        {'c', ENTITY_TARGET, "target", SQLITE_ENTITY_COMBINED},
        {'m', ENTITY_TARGET, "main", SQLITE_ENTITY_MAIN},
        {'d', ENTITY_TARGET, "descendants", SQLITE_ENTITY_DESCENDANTS},
        {'y', ENTITY_SYSTEM, "system", SQLITE_ENTITY_SYSTEM},
        {'x', ENTITY_SELF, "self", SQLITE_ENTITY_SELF},
    };
    begin(b, "", "timeline");
    buf_printf(b, "s.run, " TIME_OF_DAY(
                      "s.time_ns") " AS time, s.elapsed_ns / 1e9 AS "
                                   "elapsed_seconds, s.interval_ns / 1e9 AS interval_seconds");
    for (size_t i = 0; i < ARRAY_LEN(joined); i++)
        add_metrics(b, joined[i].table, joined[i].kind, joined[i].lead);
    buf_puts(b, " FROM samples s");
    for (size_t i = 0; i < ARRAY_LEN(joined); i++) {
        char t = joined[i].table;
        buf_printf(b,
                   " LEFT JOIN %s_samples %c ON %c.run = s.run AND %c.tick = s.tick AND %c.entity "
                   "= %u",
                   entity_kind_name(joined[i].kind), t, t, t, t, joined[i].entity);
    }
    buf_puts(b, "; ");
}

/* ---- One row for each thing in each sample --------------------------------------------------- */

static void add_kind(struct buf *b, enum entity_kind kind)
{
    begin(b, entity_kind_name(kind), "_timeline");
    buf_printf(b, "s.run, " TIME_OF_DAY("s.time_ns") " AS time, s.elapsed_ns / 1e9 AS "
                                                     "elapsed_seconds");
    if (kind != ENTITY_SYSTEM && kind != ENTITY_SELF)
        buf_puts(b, ", e.name");
    if (kind == ENTITY_TARGET)
        buf_puts(b, ", e.part");
    else if (kind == ENTITY_PROCESS)
        buf_puts(b, ", e.pid, e.parent");
    else if (kind != ENTITY_SYSTEM && kind != ENTITY_SELF)
        buf_puts(b, ", e.labels");
    add_metrics(b, 't', kind, "");
    buf_printf(b,
               " FROM %s_samples t JOIN samples s USING (run, tick) JOIN entities e USING (run, "
               "entity); ",
               entity_kind_name(kind));
}

/* ---- What it came to ------------------------------------------------------------------------- */

static void add_runs(struct buf *b)
{
    begin(b, "", "run_list");
    buf_printf(b, "run, name, host, " TIME_OF_DAY(
                      "start_ns") " AS start, wall_ns / 1e9 AS "
                                  "wall_seconds, status, code, signal, (SELECT count(*) FROM "
                                  "samples s WHERE s.run = "
                                  "runs.run) AS samples, facts ->> 'command' AS command, facts ->> "
                                  "'labels' AS labels, facts ->> 'id' AS id "
                                  "FROM runs; ");
}

static void add_processes(struct buf *b)
{
    begin(b, "", "process_list");
    buf_puts(b, "p.run, p.name, p.pid, p.parent, p.elapsed_ns / 1e9 AS left_seconds, p.how, "
                "p.status, p.code, p.signal");
    add_metrics(b, 'p', ENTITY_PROCESS, "");
    buf_puts(b, " FROM processes p; ");
}

static void add_phases(struct buf *b)
{
    begin(b, "", "phase_list");
    buf_puts(b, "run, name, pid, begin_ns / 1e9 AS begin_seconds, (end_ns - begin_ns) / 1e9 AS "
                "seconds, ended, whose");
    FOR_EACH_BIT(i, sqlite_schema_metrics(ENTITY_TARGET))
    {
        const struct metric *m = metric_of(i);
        const char *name = m->facts.name;
        if (!phase_figures_has(m))
            continue;
        if (m->kind == METRIC_COUNTER)
            buf_printf(b, ", figures ->> '$.%s.total' AS %s", name, name);
        else
            buf_printf(b, ", figures ->> '$.%s.mean' AS mean_%s, figures ->> '$.%s.max' AS max_%s",
                       name, name, name, name);
    }
    buf_puts(b, " FROM phases; ");
}

static void add_figures(struct buf *b)
{
    begin(b, "", "figures");
    buf_puts(b, "f.run, e.kind, e.part, e.name, f.metric, f.total, f.last, f.mean, f.min, f.max, "
                "f.max_at_ns / 1e9 AS max_at_seconds, f.p50, f.p90, f.p99, f.quality, f.means FROM "
                "summary f JOIN entities e USING (run, entity); ");
}

void sqlite_views_add(struct buf *b)
{
    add_timeline(b);
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        add_kind(b, kind);
    add_runs(b);
    add_processes(b);
    add_phases(b);
    add_figures(b);
}
