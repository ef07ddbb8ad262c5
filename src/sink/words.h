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

/* Stands for a blank at which no line is broken. */
#define UNBROKEN '\x1f'

/* Only where colours are wanted. */
void text_style(struct sink *s, const char *sequence);

/* Text with a lead, broken at words, the further lines hanging below the first. */
void text_paragraph(struct sink *s, const char *lead, const char *text);

/* A name from outside, without what could move the cursor or change colours. */
void text_foreign(struct sink *s, const char *text);

/* A command as one could type it. */
void text_command(struct sink *s, char *const *command);

/* ==== Human =================================================================================== */

/* Figures as people read them: 1.21 GiB, 12.3 ms, 3 h 05 min, 1,234. Three digits that count. */

/* A number in the metric's base unit. */
void human_number(struct buf *b, const struct metric *m, double number);

/* The same per second; nothing for what would say nothing (seconds per second). */
void human_rate(struct buf *b, const struct metric *m, double number);

/* In a few letters: 412M, 1.2k, 0.98; the heading tells the unit. */
void human_short(struct buf *b, const struct metric *m, double number);

void human_seconds(struct buf *b, double seconds);
void human_bytes(struct buf *b, double bytes);
void human_count(struct buf *b, double count);
