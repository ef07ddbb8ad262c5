/* SPDX-License-Identifier: MIT
 * SQLite, loaded at first use. Everything that toll does with a database goes through here:
 * opening, statements, values, errors.
 *
 * Codes: -EOPNOTSUPP no SQLite here, -ENOSPC disk full, -EROFS or -EACCES not allowed, -EBUSY
 * locked by another program, -EBADMSG not a database, damaged or hostile, -EINVAL invalid
 * statement.
 *
 * Files are not trusted. Triggers are never run, nor views where a file is read, and no value is
 * longer than 256 MiB. Reading stops with -EBADMSG when it takes far longer than the size of the
 * file explains. Statements name only tables for which sqlite_find_table returned 1. */
#pragma once

#include "base/err.h"
#include "base/text/buf.h"

struct sqlite;           /* one open database */
struct sqlite_statement; /* one statement of it */

enum sqlite_mode {
    SQLITE_MODE_READ,   /* the file has to exist */
    SQLITE_MODE_PEEK,   /* the same without locks and recovery: nothing is created */
    SQLITE_MODE_WRITE,  /* created when it does not exist */
    SQLITE_MODE_APPEND, /* has to exist: a file that was removed is not created again */

    /* SQLITE_MODE_APPEND with a separate copy of the library. SQLite shares descriptors for the
     * same inode within a process: a thread with a table of its own must not share with the rest of
     * the program, which may have the same file open. */
    SQLITE_MODE_APPEND_APART,
};

/* Whether toll was built with it; the library may still be missing. */
bool sqlite_is_built_in(void);

/* busy_ms: how long to wait for the lock of another program. */
int sqlite_open(struct sqlite **ret, const char *path, enum sqlite_mode mode, int busy_ms,
                struct toll_error *e);

/* 1: there is a plain table of that name, 0: there is none. -EBADMSG and a sentence for a view, a
 * virtual table, or one with computed columns. */
int sqlite_find_table(struct sqlite *db, const char *name, struct toll_error *e);

/* Accepts NULL; statements have to be ended before. */
void sqlite_close(struct sqlite *db);

/* One or several statements without rows. */
int sqlite_run(struct sqlite *db, const char *sql, struct toll_error *e);

int sqlite_prepare(struct sqlite_statement **ret, struct sqlite *db, const char *sql,
                   struct toll_error *e);
void sqlite_end(struct sqlite_statement *st); /* accepts NULL */

/* Values of the parameters of a statement, counted from 1. Text is copied; NAN becomes NULL. */
void sqlite_bind_null(struct sqlite_statement *st, int at);
void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value);
void sqlite_bind_double(struct sqlite_statement *st, int at, double value);
void sqlite_bind_text(struct sqlite_statement *st, int at, const char *text, size_t length);

/* 1: there is a row; 0: done, the statement can be bound and stepped again; or -errno, also for a
 * value that could not be bound. */
int sqlite_step(struct sqlite_statement *st, struct toll_error *e);

/* Values of the current row; columns are counted from 0. Text is valid until the next step. */
enum sqlite_type {
    SQLITE_IS_NULL,
    SQLITE_IS_INTEGER,
    SQLITE_IS_FLOAT,
    SQLITE_IS_TEXT /* or bytes */
};

int sqlite_columns(const struct sqlite_statement *st);
const char *sqlite_column_name(const struct sqlite_statement *st, int at);
enum sqlite_type sqlite_column_type(const struct sqlite_statement *st, int at);
int64_t sqlite_column_i64(const struct sqlite_statement *st, int at);
double sqlite_column_double(const struct sqlite_statement *st, int at);

/* False for anything but a whole number of at least 0; SQLite would convert text and NULL to 0. */
bool sqlite_column_u64(const struct sqlite_statement *st, int at, uint64_t *ret);
const char *sqlite_column_text(const struct sqlite_statement *st, int at, size_t *ret_length);

/* The first column of that name from `first` on, or -1. */
static inline int sqlite_column_called(const struct sqlite_statement *st, const char *name,
                                       int first)
{
    for (int i = first; i < sqlite_columns(st); i++)
        if (strcmp(sqlite_column_name(st, i), name) == 0)
            return i;
    return -1;
}

/* A quoted name for SQL: a"b -> "a""b". */
static inline void sqlite_quote(struct buf *b, const char *name)
{
    buf_putc(b, '"');
    for (const char *c = name; *c; c++) {
        if (*c == '"')
            buf_putc(b, '"');
        buf_putc(b, *c);
    }
    buf_putc(b, '"');
}

/* The first column of the first row of a query; 0 without rows. */
int sqlite_ask(struct sqlite *db, const char *sql, int64_t *ret, struct toll_error *e);
