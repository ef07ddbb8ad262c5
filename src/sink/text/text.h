/* SPDX-License-Identifier: MIT
 * The parts of a summary for people: tables of one instance or of several, GPUs, marks, outputs. */
#pragma once

#include "sink/words.h"

/* The figures of one instance: a target in its parts, or a device of the machine. */
struct text_rows {
    enum metric_id first;
    unsigned count;
    uint64_t selected;
    uint64_t partial; /* bits of those that lack a process which could not be read */
    const struct series *series[PARTS];         /* NULL: this part does not exist */
    const struct provenance *provenance[PARTS]; /* NULL: the kernel counts it */
};

struct text_rows text_rows_of_target(const struct sink *s, const struct target_summary *t);
struct text_rows text_rows_of_instance(const struct sink *s, const struct instance_summary *t);

enum quality text_quality(const struct text_rows *r, enum part part, unsigned i);

/* The total of a counter, the peak of a gauge. */
double text_figure(const struct text_rows *r, enum part part, unsigned i);

/* A lower bound of zero says nothing. */
static inline bool text_is_nothing(enum quality q, double figure)
{
    return q == QUALITY_LOWER_BOUND && figure <= 0;
}

/* Unless the output is verbose, zero and unknown figures share a line of titles (text_rest). */
bool text_has_line(const struct sink *s, const struct text_rows *r, unsigned i);

/* A line for each figure, with a heading; nothing without figures. */
void text_table(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns);

/* Whether a figure of a part has the sign of what is sampled, "~", in that table. */
bool text_has_sampled_parts(const struct sink *s, const struct text_rows *r);

/* The titles of the figures without a line: zero, none seen (a lower bound of zero), unknown. */
void text_rest(struct sink *s, const struct text_rows *r);

/* Several of a kind, one line each: totals and peaks of what has a heading in a line. */
void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind);
void text_targets(struct sink *s, const struct summary *summary);

/* Phases, gauges and counts of the marks; nothing without marks. */
void text_marks(struct sink *s, const struct mark_totals *t);

/* A table of the GPUs, unless the table of the machine has it (has_table); how long each was idle;
 * the energy of the run. Nothing where no GPU was read. */
void text_gpus(struct sink *s, const struct summary *summary, bool has_table);

/* A line for each output: what was written, sent or scraped, and what was lost. */
void text_outputs(struct sink *s, const struct summary *summary);
