/* SPDX-License-Identifier: MIT
 * SQLite, loaded when somebody asks for it: a program that does not starts no slower, and one on a
 * machine without the library is told so in a sentence. All that toll does with a database goes
 * through here: opening, statements, values, errors.
 *
 * Codes: -EOPNOTSUPP no SQLite here, -ENOSPC the disk is full, -EROFS or -EACCES not allowed,
 * -EBUSY another program holds it, -EBADMSG no database, or one that is damaged or hostile, -EINVAL
 * a statement it does not accept.
 *
 * A file may be anybody's. Its triggers are never run, nor its views where it is read, and no value
 * is longer than 256 MiB. Reading one stops with -EBADMSG when it takes far longer than its size
 * explains. Statements name only tables for which sqlite_find_table returned 1. */
#pragma once

#include "base/err.h"
#include "base/text/buf.h"

struct sqlite;           /* one open database */
struct sqlite_statement; /* one statement of it */

enum sqlite_mode {
    SQLITE_MODE_READ,  /* it has to be there */
    SQLITE_MODE_PEEK,  /* … and is read as it lies there: no lock, nothing is made or recovered */
    SQLITE_MODE_WRITE, /* made when it is not there */
    SQLITE_MODE_APPEND, /* it has to be there: what was removed is not made again */

    /* The same with a copy of the library of its own. SQLite knows the files of a process by their
     * inodes and shares descriptors for them: a thread that has descriptors of its own must not
     * share with the rest of the program, which may have the same file open. */
    SQLITE_MODE_APPEND_APART,
};

/* Whether toll was built to use it; whether the library is there is told by opening. */
bool sqlite_is_built_in(void);

/* busy_ms: how long to wait for another program that writes. */
int sqlite_open(struct sqlite **ret, const char *path, enum sqlite_mode mode, int busy_ms,
                struct toll_error *e);

/* 1: there is a plain table of that name, with stored rows only; 0: no such table.
 * -EBADMSG and a sentence when it is a view, a virtual table, or has columns that are computed. */
int sqlite_find_table(struct sqlite *db, const char *name, struct toll_error *e);

/* Accepts NULL; statements have to be ended before. */
void sqlite_close(struct sqlite *db);

/* One or several statements that give no rows. */
int sqlite_run(struct sqlite *db, const char *sql, struct toll_error *e);

int sqlite_prepare(struct sqlite_statement **ret, struct sqlite *db, const char *sql,
                   struct toll_error *e);
void sqlite_end(struct sqlite_statement *st); /* accepts NULL */

/* Values for the question marks of a statement, which are counted from 1. Text is copied. NAN is
 * NULL: unknown. */
void sqlite_bind_null(struct sqlite_statement *st, int at);
void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value);
void sqlite_bind_double(struct sqlite_statement *st, int at, double value);
void sqlite_bind_text(struct sqlite_statement *st, int at, const char *text, size_t length);

/* 1: there is a row; 0: it is done, and can be bound and stepped again; negative: an error. What
 * could not be bound is told here. */
int sqlite_step(struct sqlite_statement *st, struct toll_error *e);

/* Of the row that is there; columns are counted from 0. Text is borrowed until the next step. */
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

/* False when it is anything else than a whole number that is not below zero: SQLite would make 0 of
 * a text, and of NULL. */
bool sqlite_column_u64(const struct sqlite_statement *st, int at, uint64_t *ret);
const char *sqlite_column_text(const struct sqlite_statement *st, int at, size_t *ret_length);

/* The column of that name from one on, or -1. */
static inline int sqlite_column_called(const struct sqlite_statement *st, const char *name,
                                       int first)
{
    for (int i = first; i < sqlite_columns(st); i++)
        if (strcmp(sqlite_column_name(st, i), name) == 0)
            return i;
    return -1;
}

/* A name as SQL wants it between quotes: a"b -> "a""b". */
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

/* The first column of the first row that a query gives, 0 when there is none. */
int sqlite_ask(struct sqlite *db, const char *sql, int64_t *ret, struct toll_error *e);
