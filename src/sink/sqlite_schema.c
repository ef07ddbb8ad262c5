/* SPDX-License-Identifier: MIT */
#include "sink/sqlite_schema.h"

#include "sink/sqlite_tables.h"
#include "sink/sqlite_views.h"

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
                       "'%s' is a SQLite file that toll did not make, and is left as it is", path);
    if (version > SQLITE_SCHEMA_VERSION)
        return err_set(e, -EINVAL,
                       "'%s' was made by a newer toll: it has version %lld of the tables, this one "
                       "knows them up to %d",
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

static void add_name(struct buf *b, unsigned number)
{
    if (number >= STATEMENT_ROW)
        buf_puts(b, entity_kind_name(number - STATEMENT_ROW));
    buf_puts(b, sqlite_table(number)->name);
}

/* What stands around each column, and whether with its type. */
struct manner {
    const char *before, *behind;
    bool typed;
};

static void add_columns(struct buf *b, unsigned number, const struct manner *how)
{
    const struct sqlite_table *t = sqlite_table(number);
    for (unsigned i = 0; i < SQLITE_TABLE_COLUMNS && t->columns[i].name; i++)
        buf_printf(b, "%s%s%s%s%s", how->before, t->columns[i].name, how->typed ? " " : "",
                   how->typed ? t->columns[i].type : "", how->behind);
    if (number != STATEMENT_PROCESS && number < STATEMENT_ROW)
        return;
    enum entity_kind kind = number == STATEMENT_PROCESS ? ENTITY_PROCESS : number - STATEMENT_ROW;
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        const struct metric *m = metric_of(metric_first(kind) + i);
        buf_puts(b, how->before);
        sqlite_schema_column(b, m);
        if (how->typed)
            buf_puts(b, metric_is_double(m) ? " REAL" : " INTEGER");
        buf_puts(b, how->behind);
    }
}

static unsigned count_columns(unsigned number)
{
    struct buf each = {0};
    add_columns(&each, number, &(struct manner){"", "\n", false});
    unsigned count = 0;
    for (size_t i = 0; i < each.length; i++)
        count += each.data[i] == '\n';
    buf_done(&each);
    return count;
}

void sqlite_schema_statement(struct buf *b, unsigned number)
{
    if (number == STATEMENT_RUN || number == STATEMENT_RUN_END) {
        buf_puts(b, number == STATEMENT_RUN ? insert_run : end_run);
        return;
    }
    buf_puts(b, "INSERT INTO ");
    add_name(b, number);
    buf_puts(b, " (run");
    add_columns(b, number, &(struct manner){", ", "", false});
    buf_puts(b, ") VALUES (?1");
    for (unsigned i = 0, count = count_columns(number); i < count; i++)
        buf_printf(b, ", ?%u", i + 2);
    buf_putc(b, ')');
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int run_text(struct sqlite *db, struct buf *sql, struct toll_error *e)
{
    int r = buf_failed(sql) ? err_set(e, -ENOMEM, "no memory for the tables of a SQLite file")
                            : sqlite_run(db, sql->data, e);
    buf_done(sql);
    return r;
}

static int make_table(struct sqlite *db, unsigned number, struct toll_error *e)
{
    const struct sqlite_table *t = sqlite_table(number);
    struct buf sql = {0};
    buf_puts(&sql, "CREATE TABLE IF NOT EXISTS ");
    add_name(&sql, number);
    buf_puts(&sql, " (run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE");
    add_columns(&sql, number, &(struct manner){", ", "", true});
    buf_puts(&sql, ", PRIMARY KEY (run");
    for (unsigned i = 0; i < t->keys; i++)
        buf_printf(&sql, ", %s", t->columns[i].name);
    buf_puts(&sql, ")) STRICT, WITHOUT ROWID");
    return run_text(db, &sql, e);
}

/* One number that the file tells. */
static int ask(struct sqlite *db, struct buf *sql, int64_t *ret, struct toll_error *e)
{
    struct sqlite_statement *st;
    int r = buf_failed(sql) ? err_set(e, -ENOMEM, "no memory for the tables of a SQLite file")
                            : sqlite_prepare(&st, db, sql->data, e);
    buf_done(sql);
    if (r < 0)
        return r;
    r = sqlite_step(st, e);
    *ret = r > 0 ? sqlite_column_i64(st, 0) : 0;
    sqlite_end(st);
    return r < 0 ? r : 0;
}

/* How many of our columns its table has. */
static int ask_columns(struct sqlite *db, unsigned number, int64_t *ret, struct toll_error *e)
{
    struct buf sql = {0};
    buf_puts(&sql, "SELECT count(*) FROM pragma_table_info('");
    add_name(&sql, number);
    buf_puts(&sql, "') WHERE name IN (''");
    add_columns(&sql, number, &(struct manner){", '", "'", false});
    buf_putc(&sql, ')');
    return ask(db, &sql, ret, e);
}

/* A column that was not there when the file was made. */
static int add_column(struct sqlite *db, unsigned number, const char *name, const char *type,
                      struct toll_error *e)
{
    struct buf question = {0}, sql = {0};
    int64_t is_there = 0;
    buf_puts(&question, "SELECT count(*) FROM pragma_table_info('");
    add_name(&question, number);
    buf_printf(&question, "') WHERE name = '%s'", name);
    int r = ask(db, &question, &is_there, e);
    if (r < 0 || is_there)
        return r;
    buf_puts(&sql, "ALTER TABLE ");
    add_name(&sql, number);
    buf_printf(&sql, " ADD COLUMN %s %s", name, type);
    return run_text(db, &sql, e);
}

static int add_missing_metrics(struct sqlite *db, unsigned number, enum entity_kind kind,
                               struct toll_error *e)
{
    int r = 0;
    FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
    {
        const struct metric *m = metric_of(metric_first(kind) + i);
        struct buf column = {0};
        sqlite_schema_column(&column, m);
        if (r == 0)
            r = buf_failed(&column)
                    ? err_set(e, -ENOMEM, "no memory for the tables of a SQLite file")
                    : add_column(db, number, column.data, metric_is_double(m) ? "REAL" : "INTEGER",
                                 e);
        buf_done(&column);
    }
    return r;
}

/* What may be NULL can be added, and nothing else. */
static int add_missing(struct sqlite *db, unsigned number, struct toll_error *e)
{
    const struct sqlite_table *t = sqlite_table(number);
    int64_t there = 0;
    int r = 0;
    for (unsigned i = t->keys; i < SQLITE_TABLE_COLUMNS && t->columns[i].name && r == 0; i++)
        if (!strstr(t->columns[i].type, "NOT NULL"))
            r = add_column(db, number, t->columns[i].name, t->columns[i].type, e);
    if (r == 0 && (number == STATEMENT_PROCESS || number >= STATEMENT_ROW))
        r = add_missing_metrics(
            db, number, number == STATEMENT_PROCESS ? ENTITY_PROCESS : number - STATEMENT_ROW, e);
    if (r == 0)
        r = ask_columns(db, number, &there, e);
    return r < 0 || there == count_columns(number)
               ? r
               : err_set(e, -EBADMSG, "its table %s is not as toll makes it", t->name);
}

static int complete(struct sqlite *db, unsigned number, struct toll_error *e)
{
    int64_t there = 0;
    int r = ask_columns(db, number, &there, e);
    if (r < 0 || there == count_columns(number))
        return r;
    r = make_table(db, number, e);
    return r < 0 || !there ? r : add_missing(db, number, e);
}

int sqlite_schema_check_kinds(struct sqlite *db, struct toll_error *e)
{
    int r = sqlite_find_table(db, "runs", e);
    for (unsigned number = STATEMENT_ENTITY; r >= 0 && number < STATEMENTS; number++) {
        struct buf name = {0};
        add_name(&name, number);
        r = buf_failed(&name) ? err_set(e, -ENOMEM, "no memory for the tables of a SQLite file")
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
        int64_t there = 0;
        r = ask_columns(db, number, &there, e);
        *ret_complete &= there == count_columns(number);
    }
    return r;
}

int sqlite_schema_make(struct sqlite *db, struct toll_error *e)
{
    struct buf sql = {0};
    int r = sqlite_run(db, runs, e);
    for (unsigned number = STATEMENT_ENTITY; r == 0 && number < STATEMENTS; number++)
        r = complete(db, number, e);
    if (r < 0)
        return r;
    sqlite_views_add(&sql);
    buf_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
               SQLITE_SCHEMA_APPLICATION, SQLITE_SCHEMA_VERSION);
    return run_text(db, &sql, e);
}
