/* SPDX-License-Identifier: MIT
 * Rows on their way to a database, as bytes: whoever samples writes them down, quickly and without
 * SQLite, and the courier's thread plays them into its statements. A row is the number of its
 * statement and the values for its question marks. */
#pragma once

#include "base/buf.h"
#include "base/json_out.h"
#include "base/scan.h"

/* Values of the row that was begun last. */
void sqlite_tape_row(struct buf *b, unsigned statement);
void sqlite_tape_null(struct buf *b);
void sqlite_tape_i64(struct buf *b, int64_t value);
void sqlite_tape_u64(struct buf *b, uint64_t value);  /* unknown when SQLite has no room for it */
void sqlite_tape_double(struct buf *b, double value); /* NAN is unknown */

/* NULL is unknown. As in JSON, a byte that is no UTF-8 becomes the character of the same number. */
void sqlite_tape_text(struct buf *b, const char *value);

/* Text that json_… functions add to the same buffer, between the two calls. */
size_t sqlite_tape_json(struct buf *b, struct json_out *j);
void sqlite_tape_json_end(struct buf *b, size_t began);

enum tape_is { TAPE_END, TAPE_ROW, TAPE_NULL, TAPE_I64, TAPE_DOUBLE, TAPE_TEXT };

struct tape_item {
    unsigned statement; /* of a row */
    int64_t i;
    double d;
    struct scan text;
};

/* The next thing on the tape; at its end, and where it is cut short, TAPE_END. */
enum tape_is sqlite_tape_next(struct scan *tape, struct tape_item *ret);
