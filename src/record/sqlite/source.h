/* SPDX-License-Identifier: MIT
 * A SQLite file that toll wrote (docs/sqlite.md) as the source of a record: what its lines would
 * be, in their order, one at a time. */
#pragma once

#include "base/io/sqlite.h"
#include "record/reading.h"

struct sqlite_source;

/* 1: it is a file of ours, and open for reading; 0: it is no SQLite file. Negative and a sentence
 * when another program or a newer toll made it, or it cannot be read. */
int sqlite_source_open(struct sqlite_source **ret, const char *path, struct toll_error *e);

/* Accepts NULL. */
void sqlite_source_close(struct sqlite_source *s);

/* 1 and the type of what comes next; 0 at the end. run: the one that was read last. */
int sqlite_source_next(struct sqlite_source *s, const struct run *run, enum record_line *ret,
                       enum mark_kind *ret_kind, struct toll_error *e);

/* Reads what sqlite_source_next returned. 1, or 0 when it is not as expected; negative and a
 * sentence otherwise. */
int sqlite_source_read(struct sqlite_source *s, struct reading *r, struct toll_error *e);

/* The number that the file gives to the run that was read last. */
uint64_t sqlite_source_run(const struct sqlite_source *s);

/* ==== Sqlite figures ========================================================================== */

/* Rows that have a column for each metric. */

enum { SQLITE_COLUMNS_AT_MOST = 256 };

/* Which metric each column of a statement is, found by their names once. */
struct sqlite_figures {
    enum entity_kind kind;
    int columns;
    int of[SQLITE_COLUMNS_AT_MOST]; /* the number of a metric in its kind, or one of: */
};

enum { COLUMN_IS_NO_METRIC = -1, COLUMN_IS_UNKNOWN = -2 };

/* The columns from first on, of the table with that statement, or of others when it is 0. */
void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, unsigned table);

/* The row that is there; NULL is unknown. False when a figure is not a number that it can be. */
bool sqlite_figures_read(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret);

/* The name of a column that is not known and has a value, or NULL. */
const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st);
