/* SPDX-License-Identifier: MIT
 * Rows of a SQLite file that have a column for each metric. */
#pragma once

#include "base/json_out.h"
#include "base/sqlite.h"
#include "metric/frame.h"

enum { SQLITE_COLUMNS_AT_MOST = 256 };

/* Which metric each column of a statement is, found by their names once. */
struct sqlite_figures {
    enum entity_kind kind;
    int columns;
    int of[SQLITE_COLUMNS_AT_MOST]; /* the number of a metric in its kind, or one of: */
};

enum { COLUMN_IS_NO_METRIC = -1, COLUMN_IS_UNKNOWN = -2 };

/* first: where metrics may begin; others, in spaces, are names that are none. */
void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, const char *others);

/* The row that is there; NULL is unknown. False when a figure is none. */
bool sqlite_figures_take(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret);

/* The name of a column that means nothing here and has a value, or NULL. */
const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st);
