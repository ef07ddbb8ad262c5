/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/text/buf.h"

/* Words from a column on, where the line is already, broken before 80; and the end of the line. */
void help_wrap(struct buf *b, const char *text, size_t column);

/* The same behind something else, which has a line of its own when it is too long. */
void help_line(struct buf *b, const char *left, const char *text, size_t column);

/* The page of a subcommand, on stdout. */
int help_subcommand(const char *name);
