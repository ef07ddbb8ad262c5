/* SPDX-License-Identifier: MIT
 * The text of gpu-tracker's results: titles, indented by tabs, above tables as pandas prints them.
 *
 *   Overall:
 *   	                  min        max …
 *   	main_ram   0.08691302 1.57649306 …
 */
#pragma once

#include "base/buf.h"

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
