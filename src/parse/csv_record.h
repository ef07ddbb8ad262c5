/* SPDX-License-Identifier: MIT
 * One record of comma-separated values (RFC 4180):
 *
 *   812,"a name, with ""quotes""",0,1746129778.99568
 */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

enum { CSV_CELLS_AT_MOST = 4096 };

struct csv_record {
    struct buf text; /* the cells, a zero behind each */
    size_t *starts;  /* owned: where each begins */
    size_t count;    /* cells */
    size_t capacity; /* of starts */
};

/* Takes the place of what the record had; its memory is kept. The line has no newline, and may have
 * a carriage return at its end. 0; -EAGAIN when a quote is open at the end, so that the next line
 * belongs to it; -EBADMSG when there is text behind a quoted cell or a zero in one; -E2BIG;
 * -ENOMEM. */
int parse_csv_record(struct scan line, struct csv_record *r);
void csv_record_done(struct csv_record *r);

static inline const char *csv_record_cell(const struct csv_record *r, size_t i)
{
    return r->text.data + r->starts[i];
}

/* The cell as it has to be written, in quotes where it needs them. */
void csv_record_write(struct buf *b, const char *cell);

/* The same for a name that others have chosen. What a spreadsheet would take for a formula (it
 * begins with = + - @, a tab or a carriage return) has an apostrophe before it; so has what begins
 * with apostrophes and one of these, so that csv_record_plain finds every name again. */
void csv_record_write_name(struct buf *b, const char *name);

/* The name that was written so: borrowed from the cell. */
const char *csv_record_plain(const char *cell);
