/* SPDX-License-Identifier: MIT
 * What is text: UTF-8. And what of it may be shown on a terminal. */
#pragma once

#include "base/buf.h"

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

/* Text from outside, for a terminal: a blank in the place of each newline, tab and the like, a
 * question mark in that of each other control character and of each byte that is not UTF-8.
 * text_make_printable changes it in place; it never gets longer. */
void text_make_printable(char *text);
void buf_printable(struct buf *b, const char *text, size_t length);
