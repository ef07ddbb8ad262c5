/* SPDX-License-Identifier: MIT
 * The only number parser. A struct scan is a window on text that shrinks from the left as it is
 * read; nothing here needs a terminating zero, knows the locale, or reads past the end. */
#pragma once

#include "base/text/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ==== Scan ==================================================================================== */

struct scan {
    const char *at;
    const char *end;
};

static inline struct scan scan_text(const char *text, size_t length)
{
    return (struct scan){.at = text, .end = text + length};
}

struct scan scan_string(const char *text);

static inline bool scan_done(const struct scan *s)
{
    return s->at == s->end;
}

/* Skip blanks and tabs, never a newline. */
void scan_blanks(struct scan *s);

/* Read one unsigned decimal after optional blanks. False, and nothing consumed, when there is no
 * digit or the number does not fit. */
bool scan_u64(struct scan *s, uint64_t *ret);

/* The same with an optional minus; the value is stored as two's complement. */
bool scan_i64(struct scan *s, int64_t *ret);

/* Hexadecimal without 0x, as in SigIgn. */
bool scan_hex(struct scan *s, uint64_t *ret);

/* A decimal number with an optional fraction, 1.25 or .5. */
bool scan_decimal(struct scan *s, double *ret);

/* Any number that a double can hold: -1, 2.5e-3. Not infinite. */
bool scan_number(struct scan *s, double *ret);

/* Skip n blank-separated fields; false when the line ends first. */
bool scan_skip_fields(struct scan *s, unsigned n);

/* Consume the word when it is what comes next; a literal is compared in two or three steps. */
static inline bool scan_word(struct scan *s, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
        return false;
    s->at += length;
    return true;
}

/* Cut the next line off and hand it out without its newline; false at the end of the text. */
bool scan_line(struct scan *s, struct scan *ret_line);

/* 2026-11-15T09:30:00.123Z, as buf_utc writes it, from 1970 on. */
bool scan_utc(struct scan *s, uint64_t *ret_real_ns);

/* What people write: 250ms, 1.5s, 2m, 1h, 100us; a bare number is seconds.
 * 0, or -EINVAL. */
int scan_duration(const char *text, uint64_t *ret_ns);

/* 4096, 64K, 16MiB, 1.5G: powers of 1024; kB, MB, GB are powers of 1000. 0, or -EINVAL. */
int scan_size(const char *text, uint64_t *ret_bytes);

/* ==== Csv record ============================================================================== */

/* One record of comma-separated values (RFC 4180):
 *
 *   812,"a name, with ""quotes""",0,1746129778.99568 */

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

/* ==== Shell words ============================================================================= */

/* Splits a command as a shell does: blanks separate, quotes and backslashes hold together and are
 * taken away. Nothing is expanded, and | > & ; are words like others: who wants a shell calls one.
 * The list, NULL behind the last, is one block of memory for the caller to free. 0, -ENOMEM, or
 * -EINVAL when a quote or a backslash has no end; *ret_why then tells which. */
int shell_words(const char *text, char ***ret, const char **ret_why);
