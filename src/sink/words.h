/* SPDX-License-Identifier: MIT
 * Words on a terminal: colours, lines broken at words, names that come from outside. */
#pragma once

#include "metric/metric.h"
#include "sink/sink.h"

/* ==== Text words ============================================================================== */

enum { TEXT_LINE = 80 };

#define BOLD  "\033[1m"
#define RED   "\033[1;31m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

/* A blank at which no line is broken. */
#define UNBROKEN '\x1f'

/* Only where colours are wanted. */
void text_style(struct sink *s, const char *sequence);

/* Text with a lead, broken at words, the further lines hanging below the first. */
void text_paragraph(struct sink *s, const char *lead, const char *text);

/* The same with the text in *b, which is freed; nothing when it is empty or failed. */
void text_paragraph_done(struct sink *s, const char *lead, struct buf *b);

/* A name from outside, without what could move the cursor or change colours. */
void text_foreign(struct sink *s, const char *text);

/* The same as the first column of a table. A name that does not fit has a line to itself. */
void text_name_column(struct sink *s, const char *name, unsigned width);

/* A command as it could be typed. */
void text_command(struct sink *s, char *const *command);

/* A line for each GPU that was read in this sample: the figures with a heading in the table of
 * metrics. Returns the number of lines. */
unsigned lines_gpus(struct sink *s, const struct frame *f);

/* ==== Human =================================================================================== */

/* Figures as people read them: 1.21 GiB, 12.3 ms, 3 h 05 min, 1,234. Three digits that count. */

/* A number in the metric's base unit. */
void human_number(struct buf *b, const struct metric *m, double number);

/* The same per second; nothing for seconds per second. */
void human_rate(struct buf *b, const struct metric *m, double number);

/* In a few letters, for a column whose heading has the unit: 412M, 1.2k, 0.98. */
void human_short(struct buf *b, const struct metric *m, double number);

void human_seconds(struct buf *b, double seconds);
void human_count(struct buf *b, double count);
