/* SPDX-License-Identifier: MIT
 * What is text: UTF-8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Length of the well-formed sequence of several bytes at text, or 0. */
size_t utf8_length(const unsigned char *text, size_t left);

/* Whether all of it is UTF-8 without control characters. */
bool utf8_is_text(const char *text, size_t length);

/* What somebody else wrote, for a terminal: control characters are replaced. */
void text_make_printable(char *text);
