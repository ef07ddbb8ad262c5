/* SPDX-License-Identifier: MIT */
#include "record/sqlite/sqlite.h"

#include "base/process.h"
#include "summary/phases.h"
#include "summary/summary.h"

/* ==== Sqlite tables =========================================================================== */

#define WHOLE "INTEGER NOT NULL"
#define TEXT  "TEXT NOT NULL"

/* clang-format off */
#define OBJECTS(...)                                                                               \
    .objects = {__VA_ARGS__},                                                                      \
    .object_count = sizeof((enum record_object[]){__VA_ARGS__}) / sizeof(enum record_object)
/* clang-format on */

/* By the numbers of their statements. */
static const struct sqlite_table tables[] = {
    [STATEMENT_ENTITY] = {"entities",
                          "entity",
                          {{"entity", WHOLE},
                           {"kind", TEXT},
                           {"part", TEXT},
                           {"name", TEXT},
                           {"pid", "INTEGER"},
                           {"parent", "INTEGER"},
                           {"start_ticks", "INTEGER"},
                           {"targets", "TEXT"},
                           {"labels", "TEXT"}}},
    [STATEMENT_SAMPLE] = {"samples", "tick", {{"seq", WHOLE}}, OBJECTS(RECORD_OBJECT_sample)},
    [STATEMENT_PROCESS] = {"processes",
                           "seq",
                           {{"seq", WHOLE}},
                           OBJECTS(RECORD_OBJECT_departure, RECORD_OBJECT_end,
                                   RECORD_OBJECT_identity),
                           .may_be_null = BIT(1),
                           .further = {{"lower_bound", "TEXT"}},
                           .has_metrics = true},
    [STATEMENT_PHASE] = {"phases",
                         "seq",
                         {{"seq", WHOLE}},
                         OBJECTS(RECORD_OBJECT_moment, RECORD_OBJECT_mark, RECORD_OBJECT_phase,
                                 RECORD_OBJECT_event)},
    [STATEMENT_EVENT] = {"events",
                         "seq",
                         {{"seq", WHOLE}},
                         OBJECTS(RECORD_OBJECT_moment, RECORD_OBJECT_mark, RECORD_OBJECT_event)},
    [STATEMENT_GAUGE] = {"gauges",
                         "seq",
                         {{"seq", WHOLE}},
                         OBJECTS(RECORD_OBJECT_moment, RECORD_OBJECT_mark, RECORD_OBJECT_gauge)},
    [STATEMENT_NOTE] = {"notes",
                        "seq",
                        {{"seq", WHOLE}},
                        OBJECTS(RECORD_OBJECT_moment, RECORD_OBJECT_note)},
    [STATEMENT_FIGURE] = {"summary",
                          "entity, metric",
                          {{"entity", WHOLE},
                           {"metric", TEXT},
                           {"total", "ANY"},
                           {"last", "ANY"},
                           {"mean", "REAL"},
                           {"min", "REAL"},
                           {"max", "REAL"},
                           {"max_at_ns", "INTEGER"},
                           {"p50", "REAL"},
                           {"p90", "REAL"},
                           {"p99", "REAL"},
                           {"quality", "TEXT"},
                           {"means", "TEXT"}},
                          .further = {{"at_target_max", "REAL"}}},
    [STATEMENT_ROW] = {"_samples",
                       "tick, entity",
                       {{"tick", WHOLE}, {"entity", WHOLE}},
                       .has_metrics = true},
};

/* Targets end one by one. */
static const struct sqlite_table target_rows = {
    "_samples",
    "tick, entity",
    {{"tick", WHOLE}, {"entity", WHOLE}},
    .further = {{"ended", "INTEGER"}, {"lower_bound", "TEXT"}},
    .has_metrics = true};

static const struct sqlite_table process_rows = {"_samples",
                                                 "tick, entity",
                                                 {{"tick", WHOLE}, {"entity", WHOLE}},
                                                 .further = {{"lower_bound", "TEXT"}},
                                                 .has_metrics = true};

const struct sqlite_table *sqlite_table(unsigned number)
{
    if (number == STATEMENT_ROW + ENTITY_TARGET)
        return &target_rows;
    if (number == STATEMENT_ROW + ENTITY_PROCESS)
        return &process_rows;
    return &tables[number < STATEMENT_ROW ? number : STATEMENT_ROW];
}

bool sqlite_table_has_own(unsigned number, const char *column)
{
    const struct sqlite_table *t = sqlite_table(number);
    bool found = strcmp(column, "run") == 0;
    for (unsigned i = 0; i < SQLITE_OWN_COLUMNS && t->columns[i].name; i++)
        found |= strcmp(column, t->columns[i].name) == 0;
    for (unsigned i = 0; i < ARRAY_LEN(t->further) && t->further[i].name; i++)
        found |= strcmp(column, t->further[i].name) == 0;
    for (unsigned i = 0; i < t->object_count; i++) {
        unsigned count;
        for (const struct record_key *k = record_keys(t->objects[i], &count); count; k++, count--)
            found |= strcmp(column, k->column) == 0;
    }
    return found;
}

void sqlite_table_name(struct buf *b, unsigned number)
{
    if (number >= STATEMENT_ROW)
        buf_puts(b, entity_kind_name(number - STATEMENT_ROW));
    buf_puts(b, sqlite_table(number)->name);
}

bool sqlite_key_is_required(const struct record_key *k, bool is_nullable)
{
    return !is_nullable && (k->presence == RECORD_ALWAYS || k->presence == RECORD_WITH);
}

static const char *sqlite_key_type(const struct record_key *k, bool is_nullable)
{
    bool is_required = sqlite_key_is_required(k, is_nullable);
    switch (k->type) {
    case RECORD_COUNT:
    case RECORD_PID:
    case RECORD_INT:
    case RECORD_SECONDS:
    case RECORD_TIME:
    case RECORD_FLAG:
    case RECORD_NOT: return is_required ? WHOLE : "INTEGER";
    case RECORD_REAL6:
    case RECORD_REAL9:
    case RECORD_NUMBER: return is_required ? "REAL NOT NULL" : "REAL";
    default: return is_required ? TEXT : "TEXT";
    }
}

/* ==== Sqlite schema =========================================================================== */

static const char runs[] =
    "CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, name TEXT NOT NULL, host TEXT NOT "
    "NULL, pid INTEGER, start_ns INTEGER NOT NULL, facts TEXT NOT NULL, wall_ns "
    "INTEGER, status TEXT, code INTEGER, signal INTEGER, summary TEXT) STRICT";

static const char insert_run[] =
    "INSERT INTO runs (run, name, host, pid, start_ns, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
    "RETURNING run";

static const char end_run[] = "UPDATE runs SET wall_ns = ?2, status = ?3, code = ?4, signal = ?5, "
                              "summary = ?6 WHERE run = ?1";

int sqlite_schema_peek(const char *path, int64_t *ret_application, int64_t *ret_version,
                       struct toll_error *e)
{
    struct sqlite *db;
    int r = sqlite_open(&db, path, SQLITE_MODE_PEEK, 0, e);
    if (r < 0)
        return r;
    r = sqlite_ask(db, "PRAGMA application_id", ret_application, e);
    if (r == 0)
        r = sqlite_ask(db, "PRAGMA user_version", ret_version, e);
    sqlite_close(db);
    return r;
}

int sqlite_schema_is_ours(const char *path, int64_t application, int64_t version,
                          struct toll_error *e)
{
    if (application != SQLITE_SCHEMA_APPLICATION)
        return err_set(e, -EINVAL,
                       "cannot use '%s': SQLite file of another program (left unchanged)", path);
    if (version > SQLITE_SCHEMA_VERSION)
        return err_set(e, -EINVAL,
                       "cannot use '%s': written by a newer toll, tables of version %lld (expected "
                       "up to %d)",
                       path, (long long)version, SQLITE_SCHEMA_VERSION);
    return 0;
}

/* ---- What a table has ------------------------------------------------------------------------ */

uint64_t sqlite_schema_metrics(enum entity_kind kind)
{
    uint64_t all = UINT64_MAX >> (METRICS_PER_ENTITY - metric_count(kind));
    return kind == ENTITY_PROCESS ? all & ~metric_fold_mask(FOLD_WHOLE) : all;
}

void sqlite_schema_column(struct buf *b, const struct metric *m)
{
    size_t unit = m->unit == UNIT_seconds || m->unit == UNIT_joules ? strlen(m->facts.unit) : 0;
    buf_add(b, m->facts.name, strlen(m->facts.name) - unit);
    if (unit)
        buf_puts(b, m->unit == UNIT_seconds ? "ns" : "microjoules");
}

/* Calls back with each column of a table but the run. Stops at what is not 0, and returns it. */
static int sqlite_table_each(unsigned number,
                             int (*call)(void *arg, const char *name, const char *type), void *arg)
{
    const struct sqlite_table *t = sqlite_table(number);
    int r = 0;
    for (unsigned i = 0; i < SQLITE_OWN_COLUMNS && t->columns[i].name && r == 0; i++)
        r = call(arg, t->columns[i].name, t->columns[i].type);
    for (unsigned i = 0; i < t->object_count; i++) {
        unsigned count;
        const struct record_key *k = record_keys(t->objects[i], &count);
        for (; count && r == 0; k++, count--)
            if (*k->column)
                r = call(arg, k->column, sqlite_key_type(k, t->may_be_null >> i & 1));
    }
    for (unsigned i = 0; i < ARRAY_LEN(t->further) && t->further[i].name && r == 0; i++)
        r = call(arg, t->further[i].name, t->further[i].type);
    if (!t->has_metrics)
        return r;
    enum entity_kind kind = number == STATEMENT_PROCESS ? ENTITY_PROCESS : number - STATEMENT_ROW;
    struct buf name = {0};
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        const struct metric *m = metric_of(metric_first(kind) + i);
        buf_clear(&name);
        sqlite_schema_column(&name, m);
        if (r == 0)
            r = buf_failed(&name) ? -ENOMEM
                                  : call(arg, name.data, metric_is_double(m) ? "REAL" : "INTEGER");
    }
    buf_done(&name);
    return r;
}

/* What is written around the name of each column, and whether its type follows. */
struct column_list {
    struct buf *sql;
    const char *before, *after;
    bool is_typed;
    unsigned count;
};

static int sqlite_schema_list_column(void *list, const char *name, const char *type)
{
    struct column_list *l = list;
    l->count++;
    if (l->sql)
        buf_printf(l->sql, "%s%s%s%s%s", l->before, name, l->is_typed ? " " : "",
                   l->is_typed ? type : "", l->after);
    return 0;
}

/* Returns the number of columns. sql may be NULL. */
static unsigned sqlite_schema_list(struct buf *sql, unsigned number, const char *before,
                                   const char *after, bool is_typed)
{
    struct column_list l = {.sql = sql, .before = before, .after = after, .is_typed = is_typed};
    int r = sqlite_table_each(number, sqlite_schema_list_column, &l);
    if (r < 0 && sql)
        sql->failed = true;
    return l.count;
}

void sqlite_schema_statement(struct buf *b, unsigned number)
{
    if (number == STATEMENT_RUN || number == STATEMENT_RUN_END) {
        buf_puts(b, number == STATEMENT_RUN ? insert_run : end_run);
        return;
    }
    buf_puts(b, "INSERT INTO ");
    sqlite_table_name(b, number);
    buf_puts(b, " (run");
    unsigned count = sqlite_schema_list(b, number, ", ", "", false);
    buf_puts(b, ") VALUES (?1");
    for (unsigned i = 0; i < count; i++)
        buf_printf(b, ", ?%u", i + 2);
    buf_putc(b, ')');
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int sqlite_schema_run(struct sqlite *db, struct buf *sql, struct toll_error *e)
{
    int r = buf_failed(sql) ? err_set(e, -ENOMEM, "cannot prepare the SQLite tables: out of memory")
                            : sqlite_run(db, sql->data, e);
    buf_done(sql);
    return r;
}

/* One number that the file has. */
static int sqlite_schema_ask(struct sqlite *db, struct buf *sql, int64_t *ret, struct toll_error *e)
{
    struct sqlite_statement *st;
    int r = buf_failed(sql) ? err_set(e, -ENOMEM, "cannot prepare the SQLite tables: out of memory")
                            : sqlite_prepare(&st, db, sql->data, e);
    buf_done(sql);
    if (r < 0)
        return r;
    r = sqlite_step(st, e);
    *ret = r > 0 ? sqlite_column_i64(st, 0) : 0;
    sqlite_end(st);
    return r < 0 ? r : 0;
}

/* How many of our columns the table of the file has; *ret_missing: how many it lacks. */
static int sqlite_schema_ask_columns(struct sqlite *db, unsigned number, int64_t *ret_there,
                                     int64_t *ret_missing, struct toll_error *e)
{
    struct buf sql = {0};
    buf_puts(&sql, "SELECT count(*) FROM pragma_table_info('");
    sqlite_table_name(&sql, number);
    buf_puts(&sql, "') WHERE name IN (''");
    unsigned count = sqlite_schema_list(&sql, number, ", '", "'", false);
    buf_putc(&sql, ')');
    int r = sqlite_schema_ask(db, &sql, ret_there, e);
    *ret_missing = (int64_t)count - *ret_there;
    return r;
}

struct missing_columns {
    struct sqlite *db;
    unsigned number;
    struct toll_error *e;
};

/* Adds a column that was not there when the file was made. Only one that may be NULL can be. */
static int sqlite_schema_add_column(void *missing, const char *name, const char *type)
{
    struct missing_columns *m = missing;
    struct buf question = {0}, sql = {0};
    int64_t is_there = 0;
    if (strstr(type, "NOT NULL"))
        return 0;
    buf_puts(&question, "SELECT count(*) FROM pragma_table_info('");
    sqlite_table_name(&question, m->number);
    buf_printf(&question, "') WHERE name = '%s'", name);
    int r = sqlite_schema_ask(m->db, &question, &is_there, m->e);
    if (r < 0 || is_there)
        return r;
    buf_puts(&sql, "ALTER TABLE ");
    sqlite_table_name(&sql, m->number);
    buf_printf(&sql, " ADD COLUMN %s %s", name, type);
    return sqlite_schema_run(m->db, &sql, m->e);
}

/* Makes a table that is not there, and adds the columns that one of an older version lacks. */
static int sqlite_schema_complete(struct sqlite *db, unsigned number, struct toll_error *e)
{
    const struct sqlite_table *t = sqlite_table(number);
    struct missing_columns m = {db, number, e};
    struct buf sql = {0};
    int64_t there = 0, missing = 0;
    int r = sqlite_schema_ask_columns(db, number, &there, &missing, e);
    if (r < 0 || !missing)
        return r;
    buf_puts(&sql, "CREATE TABLE IF NOT EXISTS ");
    sqlite_table_name(&sql, number);
    buf_puts(&sql, " (run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE");
    sqlite_schema_list(&sql, number, ", ", "", true);
    buf_printf(&sql, ", PRIMARY KEY (run, %s)) STRICT, WITHOUT ROWID", t->keys);
    r = sqlite_schema_run(db, &sql, e);
    if (r < 0 || !there)
        return r;
    r = sqlite_table_each(number, sqlite_schema_add_column, &m);
    if (r == -ENOMEM)
        return err_set(e, r, "cannot prepare the SQLite tables: out of memory");
    if (r == 0)
        r = sqlite_schema_ask_columns(db, number, &there, &missing, e);
    return r < 0 || !missing ? r : err_set(e, -EBADMSG, "table %s: unexpected columns", t->name);
}

int sqlite_schema_check_kinds(struct sqlite *db, struct toll_error *e)
{
    int r = sqlite_find_table(db, "runs", e);
    for (unsigned number = STATEMENT_ENTITY; r >= 0 && number < STATEMENTS; number++) {
        struct buf name = {0};
        sqlite_table_name(&name, number);
        r = buf_failed(&name)
                ? err_set(e, -ENOMEM, "cannot prepare the SQLite tables: out of memory")
                : sqlite_find_table(db, name.data, e);
        buf_done(&name);
    }
    return r < 0 ? r : 0;
}

int sqlite_schema_check(struct sqlite *db, bool *ret_complete, struct toll_error *e)
{
    int r = 0;
    *ret_complete = true;
    for (unsigned number = STATEMENT_ENTITY; r == 0 && number < STATEMENTS; number++) {
        int64_t there = 0, missing = 0;
        r = sqlite_schema_ask_columns(db, number, &there, &missing, e);
        *ret_complete &= !missing;
    }
    /* Views of an older version lack these columns. */
    int64_t views = 0;
    if (r == 0)
        r = sqlite_ask(db,
                       "SELECT (SELECT count(*) FROM pragma_table_info('run_list') WHERE name = "
                       "'memory_quality') + (SELECT count(*) FROM pragma_table_info("
                       "'process_list') WHERE name = 'start_seconds') + (SELECT count(*) FROM "
                       "pragma_table_info('figures') WHERE name = 'at_target_max')",
                       &views, e);
    *ret_complete &= views == 3;
    return r;
}

int sqlite_schema_make(struct sqlite *db, struct toll_error *e)
{
    struct buf sql = {0};
    int r = sqlite_run(db, runs, e);
    for (unsigned number = STATEMENT_ENTITY; r == 0 && number < STATEMENTS; number++)
        r = sqlite_schema_complete(db, number, e);
    if (r < 0)
        return r;
    sqlite_views_add(&sql);
    buf_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
               SQLITE_SCHEMA_APPLICATION, SQLITE_SCHEMA_VERSION);
    return sqlite_schema_run(db, &sql, e);
}

/* ==== Sqlite views ============================================================================ */

/* "t.cpu_ns / 1e9 AS target_cpu_seconds", for each metric */
static void sqlite_views_add_metrics(struct buf *b, char table, enum entity_kind kind,
                                     const char *lead)
{
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        const struct metric *m = metric_of(metric_first(kind) + i);
        buf_printf(b, ", %c.", table);
        sqlite_schema_column(b, m);
        if (m->unit == UNIT_seconds || m->unit == UNIT_joules)
            buf_puts(b, m->unit == UNIT_seconds ? " / 1e9" : " / 1e6");
        buf_printf(b, " AS %s%s%s", lead, *lead ? "_" : "", m->facts.name);
    }
}

static void sqlite_views_begin(struct buf *b, const char *before, const char *name)
{
    buf_printf(b, "DROP VIEW IF EXISTS %s%s; CREATE VIEW %s%s AS SELECT ", before, name, before,
               name);
}

/* Cut, not rounded, to milliseconds, as in the other formats. */
#define TIME_OF_DAY(ns)                                                                            \
    "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', " ns " / 1000000 / 1000.0, 'unixepoch')"

/* ---- All that a sample has in one row, as in CSV --------------------------------------------- */

static void sqlite_views_add_timeline(struct buf *b)
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
    sqlite_views_begin(b, "", "timeline");
    buf_printf(b, "s.run, " TIME_OF_DAY(
                      "s.time_ns") " AS time, s.elapsed_ns / 1e9 AS "
                                   "elapsed_seconds, s.interval_ns / 1e9 AS interval_seconds");
    for (size_t i = 0; i < ARRAY_LEN(joined); i++)
        sqlite_views_add_metrics(b, joined[i].table, joined[i].kind, joined[i].lead);
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

/* ---- One row for each entity in each sample -------------------------------------------------- */

static void sqlite_views_add_kind(struct buf *b, enum entity_kind kind)
{
    sqlite_views_begin(b, entity_kind_name(kind), "_timeline");
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
    sqlite_views_add_metrics(b, 't', kind, "");
    buf_printf(b,
               " FROM %s_samples t JOIN samples s USING (run, tick) JOIN entities e USING (run, "
               "entity); ",
               entity_kind_name(kind));
}

/* ---- What it came to ------------------------------------------------------------------------- */

static void sqlite_views_add_phases(struct buf *b)
{
    sqlite_views_begin(b, "", "phase_list");
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

/* How something ended, in the words of toll list: "exit 0", "SIGKILL". */
static void sqlite_views_add_exit(struct buf *b, const char *table)
{
    enum { LAST_NAMED = 31 };
    buf_printf(b,
               "WHEN %s.status = 'exited' THEN 'exit ' || %s.code WHEN %s.status = 'signaled' "
               "THEN CASE %s.signal",
               table, table, table, table);
    for (int number = 1; number <= LAST_NAMED; number++)
        if (signal_name(number))
            buf_printf(b, " WHEN %d THEN 'SIG%s'", number, signal_name(number));
    buf_printf(b, " ELSE 'signal ' || %s.signal END", table);
}

/* A figure of the summary of all targets together, of run r. */
static void sqlite_views_join_figure(struct buf *b, char table, enum metric_id id)
{
    buf_printf(b, " LEFT JOIN summary %c ON %c.run = r.run AND %c.entity = %d AND %c.metric = '%s'",
               table, table, table, SQLITE_ENTITY_COMBINED, table, metric_of(id)->facts.name);
}

/* The largest value that the samples of run r have. */
static void sqlite_views_add_sampled(struct buf *b, enum metric_id id)
{
    buf_puts(b, "(SELECT max(t.");
    sqlite_schema_column(b, metric_of(id));
    buf_printf(b, ") FROM target_samples t WHERE t.run = r.run AND t.entity = %d)",
               SQLITE_ENTITY_COMBINED);
}

/* What toll list shows: figures of the summary, or of the samples while there is none. Peak memory
 * is that of summary_memory_peak(). */
static void sqlite_views_add_run_list(struct buf *b)
{
    const char *cpu = metric_of(process_cpu_seconds)->facts.name;
    const char *peak = metric_of(process_memory_peak_bytes)->facts.name;
    struct buf sampled = {0}, is_largest = {0}, is_short = {0};
    sqlite_views_add_sampled(&sampled, process_memory_rss_bytes);
    const char *rss = sampled.data ? sampled.data : "";
    buf_printf(&is_short, "(r.wall_ns < %llu AND r.facts ->> '$.command[0]' IS NOT NULL)",
               (unsigned long long)SUMMARY_SHORTEST_FOR_MEMORY_NS);
    buf_printf(&is_largest,
               "(p.max > 0 AND p.max >= coalesce(m.max, 0) AND p.max > 1.02 * "
               "coalesce(%s, 0) AND NOT (%s AND p.max < 1048576 AND p.quality = 'lower bound'))",
               rss, is_short.data ? is_short.data : "");
    b->failed |= buf_failed(&sampled) || buf_failed(&is_largest) || buf_failed(&is_short);
    if (!b->failed) {
        sqlite_views_begin(b, "", "run_list");
        buf_printf(b, "r.run, " TIME_OF_DAY(
                          "r.start_ns") " AS start, r.name, r.facts ->> 'labels' "
                                        "AS labels, coalesce(r.wall_ns, (SELECT max(s.elapsed_ns) "
                                        "FROM samples s "
                                        "WHERE s.run = r.run)) / 1e9 AS duration_seconds, ");
        buf_puts(b, "CASE WHEN r.summary ->> '$.end.oom_killed' THEN 'OOM kill' "
                    "WHEN r.summary ->> '$.end.timed_out' THEN 'timed out' "
                    "WHEN r.summary ->> '$.end.cut_short' THEN 'cut off' ");
        sqlite_views_add_exit(b, "r");
        buf_puts(b, " WHEN r.status = 'running' AND r.facts ->> 'attached_to' IS NOT NULL THEN "
                    "'left running' WHEN r.status = 'running' THEN '-' WHEN r.status IS NULL THEN "
                    "'running?' ELSE 'unknown' END AS exit, CASE WHEN r.status IS NULL THEN ");
        sqlite_views_add_sampled(b, process_cpu_seconds);
        buf_printf(b,
                   " / 1e9 ELSE c.total END AS %s, CAST(CASE WHEN r.status IS NULL THEN %s WHEN "
                   "%s THEN p.max WHEN %s AND m.max < 1048576 THEN NULL ELSE m.max END AS "
                   "INTEGER) AS %s, ",
                   cpu, rss, is_largest.data, is_short.data, peak);
        buf_printf(b,
                   "CASE WHEN r.status IS NULL THEN 'lower bound' ELSE coalesce(c.quality, "
                   "'unknown') END AS cpu_quality, CASE WHEN r.status IS NULL THEN 'lower "
                   "bound' WHEN %s THEN CASE WHEN n.total > 1 OR n.total IS NULL OR p.quality = "
                   "'lower bound' THEN 'lower bound' WHEN n.quality LIKE 'exact%%' THEN p.quality "
                   "ELSE 'sampled' END WHEN m.max IS NULL OR (%s AND m.max < 1048576) THEN "
                   "'unknown' WHEN %s "
                   "THEN 'lower bound' ELSE coalesce(m.quality, 'unknown') END AS "
                   "memory_quality, ",
                   is_largest.data, is_short.data, is_short.data);
        buf_puts(b, "r.facts ->> 'command' AS command, r.host, r.facts ->> 'id' AS id, (SELECT "
                    "count(*) FROM samples s WHERE s.run = r.run) AS samples, r.wall_ns / 1e9 AS "
                    "wall_seconds, r.status, r.code, r.signal FROM runs r");
        sqlite_views_join_figure(b, 'c', process_cpu_seconds);
        sqlite_views_join_figure(b, 'm', process_memory_rss_bytes);
        sqlite_views_join_figure(b, 'p', process_memory_peak_bytes);
        sqlite_views_join_figure(b, 'n', process_processes_started_count);
        buf_puts(b, "; ");
    }
    buf_done(&sampled);
    buf_done(&is_largest);
    buf_done(&is_short);
}

/* Command lines are kept of the largest processes of a run, in its summary. */
static void sqlite_views_add_process_list(struct buf *b)
{
    sqlite_views_begin(b, "", "process_list");
    buf_puts(b, "p.run, p.pid, p.parent, p.name, l.command, (p.elapsed_ns - p.");
    sqlite_schema_column(b, metric_of(process_wall_seconds));
    buf_puts(b, ") / 1e9 AS start_seconds, p.elapsed_ns / 1e9 AS left_seconds, CASE WHEN "
                "p.oom_killed THEN 'OOM kill' ");
    sqlite_views_add_exit(b, "p");
    buf_puts(b, " WHEN p.status IS NOT NULL THEN p.status END AS exit, p.how, p.status, p.code, "
                "p.signal");
    sqlite_views_add_metrics(b, 'p', ENTITY_PROCESS, "");
    buf_puts(b, " FROM processes p LEFT JOIN (SELECT r.run, j.value ->> 'pid' AS pid, j.value ->> "
                "'start_ticks' AS ticks, max(j.value ->> 'command') AS command FROM runs r, "
                "json_each(r.summary, '$.largest_processes') j GROUP BY 1, 2, 3) l ON l.run = "
                "p.run AND l.pid = p.pid AND l.ticks = p.start_ticks; ");
}

void sqlite_views_add(struct buf *b)
{
    sqlite_views_add_timeline(b);
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        sqlite_views_add_kind(b, kind);
    sqlite_views_add_run_list(b);
    sqlite_views_add_process_list(b);
    sqlite_views_add_phases(b);
    sqlite_views_begin(b, "", "figures");
    buf_puts(b, "f.run, e.kind, e.part, e.name, f.metric, f.total, f.last, f.mean, f.min, f.max, "
                "f.max_at_ns / 1e9 AS max_at_seconds, f.p50, f.p90, f.p99, f.quality, f.means, "
                "f.at_target_max FROM summary f JOIN entities e USING (run, entity); ");
}
