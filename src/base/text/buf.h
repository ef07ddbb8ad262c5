/* SPDX-License-Identifier: MIT
 * The only growing text buffer. A failed allocation is remembered and tested once at the end
 * (buf_failed), so that code that builds text needs no checks. Numbers never follow the locale. */
#pragma once

#include "base/util.h"

/* ==== Buf ===================================================================================== */

/* How buf_bytes writes a size. */
enum byte_units {
    BYTES_BINARY,  /* 1.50 MiB */
    BYTES_DECIMAL, /* 1.57 MB: powers of 1000 */
    BYTES_PLAIN,   /* 1572864 B */
};

struct buf {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
    enum byte_units units;
};

/* An empty buffer with the units of another. */
static inline struct buf buf_like(const struct buf *b)
{
    return (struct buf){.units = b->units};
}

void buf_done(struct buf *b);

/* Forget the text, keep the memory. */
void buf_clear(struct buf *b);
bool buf_failed(const struct buf *b);

/* The text as a string, which the caller frees; NULL when an allocation has failed. The buffer is
 * empty afterwards. */
char *buf_take(struct buf *b);

/* Writes the text to another place, cut to its size and terminated; returns the full length, as
 * snprintf does. A place of no size may be NULL. */
size_t buf_copy_out(const struct buf *b, char *place, size_t size);

/* Room to write at least that many bytes after the text; there are *ret_room. Add what was written
 * to the length. NULL without memory. */
char *buf_room(struct buf *b, size_t least, size_t *ret_room);

void buf_add(struct buf *b, const char *text, size_t length);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);

/* For text and integers only: floating point formats follow the locale of the host program. */
void buf_printf(struct buf *b, const char *format, ...) PRINTF_LIKE(2, 3);

void buf_u64(struct buf *b, uint64_t value);

/* value / 10^decimals, all decimals shown: 1234567, 6 -> 1.234567 */
void buf_fixed(struct buf *b, uint64_t value, unsigned decimals);

/* Nanoseconds as seconds, trailing zeros cut: 1500000000 -> 1.5 */
void buf_seconds(struct buf *b, uint64_t ns);

/* A double with that many decimals at most, trailing zeros cut; "null" when it is not finite or
 * too large (1.8e19 / 10^decimals). */
void buf_double(struct buf *b, double value, unsigned decimals);

/* The number that a reader of that text gets. */
double buf_double_again(double value, unsigned decimals);

/* Any double, in the fewest digits that read back as the same: 0.1, 1e+20; "null" when it is not
 * finite. */
void buf_number(struct buf *b, double value);

/* The same with that many significant digits at most: for people. */
void buf_number_short(struct buf *b, double value, unsigned digits);

/* Always with that many decimals: for people. */
void buf_double_fixed(struct buf *b, double value, unsigned decimals);

/* A size with three digits that count, for people: 412 B, 1.21 GiB */
void buf_bytes(struct buf *b, double bytes);

/* A time with three digits that count, for people: 12.5 ms, 4m 31s, 2d 03h */
void buf_duration(struct buf *b, double seconds);

/* 2026-11-15T09:30:00.123Z */
void buf_utc(struct buf *b, uint64_t real_ns);

/* Spaces until the text that began at `start` is `width` columns wide (UTF-8 aware). */
void buf_pad(struct buf *b, size_t start, unsigned width);

/* Spaces in front of what was added since `start`, so that it is `width` columns wide. */
void buf_pad_left(struct buf *b, size_t start, unsigned width);

/* ==== Utf8 ==================================================================================== */

/* Length of the well-formed sequence of several bytes at text, or 0. */
size_t utf8_length(const unsigned char *text, size_t left);

/* The same for a character of any length, with its code point; 0 for what is not UTF-8. */
size_t utf8_decode(const unsigned char *text, size_t left, uint32_t *ret_point);

/* Whether all of it is UTF-8 without control characters. */
bool utf8_is_text(const char *text, size_t length);

/* Characters that change how a terminal behaves, or how it shows what is around them: the control
 * characters of both sets, line separators, and the controls of writing direction, which make a
 * line read as something it is not. */
bool utf8_is_control(uint32_t point);

/* How many columns of a terminal the text takes. What is not UTF-8 and control characters count as
 * one each, as they are shown. */
size_t utf8_columns(const char *text, size_t length);

/* The longest beginning of the text, in bytes, that takes no more than that many columns. */
size_t utf8_fitting(const char *text, size_t length, size_t columns);

/* Text from outside, for a terminal: newlines, tabs and the like become blanks, other control
 * characters and bytes that are not UTF-8 question marks. text_make_printable works in place; the
 * text never gets longer. */
void text_make_printable(char *text);
void buf_printable(struct buf *b, const char *text, size_t length);

/* Adds text as valid UTF-8: bytes that are not are read as Latin-1. */
void buf_utf8(struct buf *b, const char *text, size_t length);
