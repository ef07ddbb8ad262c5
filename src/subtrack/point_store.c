/* SPDX-License-Identifier: MIT */
#include "subtrack/point_store.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/output_file.h"
#include "base/scan.h"
#include "base/sqlite.h"
#include "subtrack/row_file.h"

#include <stdio.h>
#include <string.h>

static const char *type_of(const char *text)
{
    struct scan s = scan_string(text);
    double number;
    if (!*text)
        return "FLOAT"; /* not known at first: a figure */
    if (!scan_number(&s, &number) || !scan_done(&s))
        return "VARCHAR";
    return strpbrk(text, ".eE") ? "FLOAT" : "INTEGER";
}

/* The types are those of the first row. */
static int create(struct sqlite *db, const char *table, const struct row_file *from, bool has_row,
                  struct toll_error *e)
{
    struct buf sql = {0};
    buf_printf(&sql, "CREATE TABLE %s (", table);
    for (size_t i = 0; i < row_file_columns(from); i++) {
        buf_puts(&sql, i ? ", " : "");
        sqlite_quote(&sql, row_file_name(from, i));
        buf_printf(&sql, " %s", has_row ? type_of(row_file_text(from, i)) : "FLOAT");
    }
    buf_putc(&sql, ')');
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "no memory for a table")
                             : sqlite_run(db, sql.data, e);
    buf_done(&sql);
    return r;
}

static int prepare_insert(struct sqlite_statement **ret, struct sqlite *db, const char *table,
                          size_t columns, struct toll_error *e)
{
    struct buf sql = {0};
    buf_printf(&sql, "INSERT INTO %s VALUES (", table);
    for (size_t i = 0; i < columns; i++)
        buf_puts(&sql, i ? ", ?" : "?");
    buf_putc(&sql, ')');
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "no memory for a table")
                             : sqlite_prepare(ret, db, sql.data, e);
    buf_done(&sql);
    return r;
}

static void bind(struct sqlite_statement *st, int at, const char *text)
{
    struct scan s = scan_string(text), t = s;
    int64_t integer;
    double number;
    if (!*text)
        sqlite_bind_null(st, at);
    else if (scan_i64(&s, &integer) && scan_done(&s))
        sqlite_bind_i64(st, at, integer);
    else if (scan_number(&t, &number) && scan_done(&t))
        sqlite_bind_double(st, at, number);
    else
        sqlite_bind_text(st, at, text, strlen(text));
}

/* most: so many rows, and the next table begins. */
static int copy_table(struct sqlite *db, struct row_file *from, const char *table, uint64_t most,
                      struct toll_error *e)
{
    struct sqlite_statement *insert = NULL;
    int r = row_file_table(from, table, e);
    int row = r < 0 ? r : row_file_next(from, e);
    r = row < 0 ? row : create(db, table, from, row > 0, e);
    if (r == 0)
        r = prepare_insert(&insert, db, table, row_file_columns(from), e);
    while (r == 0 && row > 0) {
        for (size_t i = 0; i < row_file_columns(from); i++)
            bind(insert, (int)i + 1, row_file_text(from, i));
        r = sqlite_step(insert, e);
        row = r == 0 && --most ? row_file_next(from, e) : 0;
        if (row < 0)
            r = row;
    }
    sqlite_end(insert);
    return r;
}

static int copy(const char *csv, const char *path, struct toll_error *e)
{
    struct row_file *from = NULL;
    struct sqlite *db = NULL;
    int r = row_file_open(&from, csv, e);
    if (r == 0)
        r = sqlite_open(&db, path, SQLITE_MODE_WRITE, 0, e);
    if (r == 0)
        r = sqlite_run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN",
                       e); /* nothing else knows the file yet */
    if (r == 0)
        r = copy_table(db, from, "static_data", 1, e);
    if (r == 0)
        r = copy_table(db, from, "data", UINT64_MAX, e);
    if (r == 0)
        r = sqlite_run(db, "COMMIT", e);
    sqlite_close(db);
    row_file_close(from);
    return r;
}

int points_to_sqlite(const char *csv, const char *sqlite, struct toll_error *e)
{
    struct replacement file;
    struct held_signals held;
    int r = replacement_open(&file, sqlite, REPLACEMENT_NAMED, e);
    if (r < 0)
        return r;
    file_signals_hold(&held);
    r = file.is_file ? copy(csv, file.path, e)
                     : err_set(e, -EINVAL, "%s: SQLite needs a regular file", sqlite);
    file_signals_release(&held);
    if (r == 0 && (r = replacement_commit(&file)) < 0)
        err_set(e, r, "%s: %s", sqlite, strerror(-r));
    replacement_close(&file);
    return r;
}
