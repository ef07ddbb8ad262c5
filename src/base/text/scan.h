/* SPDX-License-Identifier: MIT
 * The only number parser. A struct scan is a window on text that shrinks from the left as it is
 * read; nothing here needs a terminating zero, depends on the locale, or reads past the end. */
#pragma once

#include "base/text/buf.h"

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

static inline struct scan scan_string(const char *text)
{
    return scan_text(text, strlen(text));
}

static inline bool scan_done(const struct scan *s)
{
    return s->at == s->end;
}

static inline size_t scan_length(struct scan s)
{
    return (size_t)(s.end - s.at);
}

/* What is left as a string; the caller frees it. NULL without memory. */
char *scan_copy(struct scan s);

/* Skip blanks and tabs, never a newline. */
void scan_blanks(struct scan *s);

/* The functions that read numbers skip blanks first. They return false, and consume nothing, where
 * there is no number or it does not fit. */
bool scan_u64(struct scan *s, uint64_t *ret);

/* The same without skipping blanks. */
static inline bool scan_u64_here(struct scan *s, uint64_t *ret)
{
    return !scan_done(s) && *s->at != ' ' && *s->at != '	' && scan_u64(s, ret);
}

/* With an optional minus. */
bool scan_i64(struct scan *s, int64_t *ret);

/* Hexadecimal without 0x, as in SigIgn. */
bool scan_hex(struct scan *s, uint64_t *ret);

/* The value of one hexadecimal digit; -1 for anything else. */
int scan_hex_digit(char c);

/* Without a sign, with an optional fraction: 1.25 or .5. */
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

/* ==== Decimal ================================================================================= */

/* A number without a loss, as it is written: digits times ten to the power of the exponent. */
struct decimal {
    bool negative;
    bool is_cut; /* there were more digits than are kept; they are counted in the exponent */
    uint64_t digits;
    int exponent;
};

/* As RFC 8259 (JSON) has it. False for anything else; then some of it may be consumed. */
bool decimal_take_json(struct scan *s, struct decimal *ret);

/* In units of 10^-decimals (nanoseconds: 9), rounded. False when it is negative or does not fit. */
bool decimal_u64(const struct decimal *n, unsigned decimals, uint64_t *ret);

/* The nearest double. False when it is too large for one. */
bool decimal_double(const struct decimal *n, double *ret);

/* ==== Csv record ============================================================================== */

/* One record of comma-separated values (RFC 4180):
 *
 *   812,"a name, with ""quotes""",0,1746129778.99568 */

enum { CSV_CELLS_AT_MOST = 4096 };

struct csv_record {
    struct buf text; /* the cells, each with a zero at its end */
    size_t *starts;  /* owned: where each begins */
    size_t count;    /* cells */
    size_t capacity; /* of starts */
};

/* Replaces the content of the record; its memory is kept. The line has no newline, and may have a
 * carriage return at its end. 0; -EAGAIN when a quote is open at the end, so that the next line
 * belongs to it; -EBADMSG when there is text after a quoted cell or a zero in one; -E2BIG; -ENOMEM.
 */
int parse_csv_record(struct scan line, struct csv_record *r);
void csv_record_done(struct csv_record *r);

static inline const char *csv_record_cell(const struct csv_record *r, size_t i)
{
    return r->text.data + r->starts[i];
}

/* The cell as it has to be written, in quotes where it needs them. */
void csv_record_write(struct buf *b, const char *cell);

/* For names from outside: what a spreadsheet would take for a formula (it begins with = + - @, a
 * tab or a carriage return) gets an apostrophe before it. A name that begins with apostrophes and
 * one of these gets one more, so that csv_record_plain restores every name. */
void csv_record_write_name(struct buf *b, const char *name);

/* The name that csv_record_write_name wrote: borrowed from the cell. */
const char *csv_record_plain(const char *cell);

/* ==== Shell words ============================================================================= */

/* Splits a command as a shell does: blanks separate, quotes and backslashes hold together and are
 * removed. Nothing is expanded, and | > & ; are ordinary words. The NULL-terminated list is one
 * block of memory that the caller frees. 0, -ENOMEM, or -EINVAL and a static text in *ret_why when
 * a quote or a backslash has no end. */
int shell_words(const char *text, char ***ret, const char **ret_why);
