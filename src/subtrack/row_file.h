/* SPDX-License-Identifier: MIT
 * The files of gpu-tracker, row by row, whether they are CSV or SQLite. A file may have two tables:
 * in CSV one stands behind the other, each with its heading; in SQLite they have names. */
#pragma once

#include "toll.h"

#include <stdbool.h>
#include <stddef.h>

struct row_file;

enum row_format { ROWS_CSV, ROWS_SQLITE };

/* From the suffix; -EINVAL and a sentence with those there are. */
int row_format_of(const char *path, enum row_format *ret, struct toll_error *e);

int row_file_open(struct row_file **ret, const char *path, struct toll_error *e);
void row_file_close(struct row_file *f); /* accepts NULL */

enum row_format row_file_format(const struct row_file *f);

/* Go to the next table, which SQLite knows by its name. -ENODATA and a sentence when the file ends
 * before it. */
int row_file_table(struct row_file *f, const char *name, struct toll_error *e);

/* The columns of the table; names live until the next table. */
size_t row_file_columns(const struct row_file *f);
const char *row_file_name(const struct row_file *f, size_t column);

/* The number of a column, or -ENOENT and a sentence. */
int row_file_column(const struct row_file *f, const char *name, struct toll_error *e);

/* 1: there is a row; 0: there is none left; negative: an error, with a sentence that tells where.
 */
int row_file_next(struct row_file *f, struct toll_error *e);

/* Of the row, good until the next. */
const char *row_file_text(const struct row_file *f, size_t column);

/* NAN when the cell is empty; -EBADMSG and a sentence when there is something else in it. */
int row_file_number(const struct row_file *f, size_t column, double *ret, struct toll_error *e);
