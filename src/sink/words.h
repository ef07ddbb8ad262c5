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

/* The width to write for: that of the terminal within reason, eighty without one. */
unsigned text_width(const struct sink *s);

/* Only where colours are wanted. */
void text_style(struct sink *s, const char *sequence);

/* Text with a lead, broken at words, the further lines hanging below the first. */
void text_paragraph(struct sink *s, const char *lead, const char *text);

/* The same with the text in *b, which is freed; nothing when it is empty or failed. */
void text_paragraph_done(struct sink *s, const char *lead, struct buf *b);

/* Bytes of the first word of a text that is not broken: "400 W" and "41 %" are one. */
size_t text_word(const char *text, size_t length);

/* Cuts what follows `start` to so many columns, with an ellipsis. */
void text_cut(struct buf *b, size_t start, unsigned columns);

/* Replaces all characters beyond ASCII from `start` on, for terminals that do not show them. */
void text_to_ascii(struct buf *b, size_t start);

/* A name from outside, without what could move the cursor or change colours. */
void text_foreign(struct sink *s, const char *text);

/* The same as the first column of a table. A name that does not fit has a line to itself. */
void text_name_column(struct sink *s, const char *name, unsigned width);

/* A command as it could be typed, cut when it is very long. */
void human_command(struct buf *b, char *const *command);
void text_command(struct sink *s, char *const *command);

/* The heading of a column: its lower line, or the one above, which may be empty. Without one in the
 * table of metrics it is the name. */
const char *text_heading(const struct metric *m, bool is_upper, char *ret, size_t capacity);

/* A line for each GPU that was read in this sample: the figures with a heading in the table of
 * metrics, as far as they fit. Returns the number of lines. */
unsigned lines_gpus(struct sink *s, const struct frame *f, unsigned columns);

/* ==== Human =================================================================================== */

/* Figures as people read them: 1.21 GiB, 12.3 ms, 3 h 05 min, 1,234. Three digits that count. */

/* A number in the metric's base unit. */
void human_number(struct buf *b, const struct metric *m, double number);

/* The same per second; nothing for seconds per second. */
void human_rate(struct buf *b, const struct metric *m, double number);

/* In a few letters, for a column whose heading has the unit: 412M, 1.2k, 0.98. */
void human_short(struct buf *b, const struct metric *m, double number);

/* A share: "47 %", with one decimal below ten, and "< 0.1 %". */
void human_percent(struct buf *b, double share);

void human_seconds(struct buf *b, double seconds);
void human_count(struct buf *b, double count);

/* How a run ended, and its length: "exit 0 in 1m 12s". */
void human_end(struct buf *b, const struct summary *summary);

/* Its place in a parallel job and in a batch job: "3 of 4 (Open MPI), local rank 1, job 4242". */
void words_put_place(struct buf *b, const struct run *run);

/* ==== Limits ================================================================================== */

/* How much of a limit was used. */
struct limit_used {
    enum limit_kind kind;
    const char *name;          /* what is limited: "memory charged to the cgroup" */
    const struct metric *unit; /* a metric that has its unit, for human_number */
    const struct limit *limit; /* borrowed */
    double used, allowed;
    bool is_least; /* `used` is a lower bound */
};

/* Those of which it is known. Returns their number. */
unsigned limits_used(const struct limits *limits, struct limit_used ret[LIMITS]);

/* ==== Energy ================================================================================== */

enum energy_word { ENERGY_JOULES, ENERGY_KWH, ENERGY_CO2E, ENERGY_COST };

/* "12.3 to 18.1 kWh", or at_least "12.3 g CO2e", after the text `before`. False when unknown: then
 * nothing is written. */
bool words_put_energy(struct buf *b, const char *before, const char *at_least,
                      const struct job_energy *j, enum energy_word word);
