/* SPDX-License-Identifier: MIT
 * The files of gpu-tracker, row by row, whether they are CSV or SQLite. A file may have two tables:
 * in CSV one follows the other, each with its heading; in SQLite they have names. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== Row file ================================================================================ */

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

/* 1: there is a row; 0: there is none left; negative: an error, with a sentence that names the
 * place.
 */
int row_file_next(struct row_file *f, struct toll_error *e);

/* Of the row, good until the next. */
const char *row_file_text(const struct row_file *f, size_t column);

/* NAN when the cell is empty; -EBADMSG and a sentence when there is something else in it. */
int row_file_number(const struct row_file *f, size_t column, double *ret, struct toll_error *e);

/* ==== Point store ============================================================================= */

/* A tracking file in CSV, made one in SQLite: a table "static_data" and a table "data". */

/* Takes the place of a file that is there, as a whole. */
int points_to_sqlite(const char *csv, const char *sqlite, struct toll_error *e);

/* ==== Combine ================================================================================= */

/* Sub-tracking files made one, and files of that kind written. */

/* All rows of all files, in their order, into a file that is not there yet and has the same suffix.
 * It comes into being whole or not at all. files: NULL-terminated. */
int combine_blocks(const char *destination, const char *const *files, struct toll_error *e);

/* ==== Results text ============================================================================ */

/* The text of gpu-tracker's results: titles, indented by tabs, above tables as pandas prints them.
 *
 *   Overall:
 *   	                  min        max …
 *   	main_ram   0.08691302 1.57649306 … */

/* A table of cells that are text already. The first column, the names of the rows, stands at the
 * left; the others at the right of theirs, under their names. */
struct text_frame {
    size_t rows, columns;
    const char *const *row_names;    /* NULL: they have none */
    const char *const *column_names; /* numbers leave room for a sign above them: " min" */
    struct buf *cells;               /* row by row */
    bool is_text;                    /* the columns are no numbers: no room above them */
};

void text_frame_write(struct buf *b, const struct text_frame *f, unsigned tabs);

/* Numbers have eight decimals at most; NAN is "NaN". */
void text_number(struct buf *b, double value);

/* "main_n_threads" -> "Main N Threads:", and a newline. */
void text_title(struct buf *b, const char *key, unsigned tabs);
void text_tabs(struct buf *b, unsigned tabs);
