/* SPDX-License-Identifier: MIT
 * What stands in a cell, as text. */
#pragma once

#include "dialect/term_figure.h"

/* Of a column that is text: a time, a name, the word of an option. Made in the room, or borrowed;
 * NULL when there is none. */
const char *cell_text(const struct translation *t, const struct row_of *r, size_t column,
                      char room[64]);

/* The cell as the dialect writes it; nothing when it is not known. */
void cell_write(struct buf *b, const struct dialect_column *c, const struct dialect_cell *cell);
