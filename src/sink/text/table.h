/* SPDX-License-Identifier: MIT
 * Tables of a summary for people: figures of one thing below each other, or several things with
 * one line each. */
#pragma once

#include "sink/words.h"

/* The figures of one thing: a target in its parts, or a thing of the machine. */
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

/* At least nothing says nothing. */
static inline bool text_is_nothing(enum quality q, double figure)
{
    return q == QUALITY_LOWER_BOUND && figure <= 0;
}

/* Unless all is asked for, what is zero and what is unknown get one line together. */
bool text_has_line(const struct sink *s, const struct text_rows *r, unsigned i);

/* A line for each figure, with a heading; nothing when there is none. */
void text_table(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns);

/* Whether a figure of a part has the sign of what is sampled, "~", in that table. */
bool text_has_sampled_parts(const struct sink *s, const struct text_rows *r);

/* The titles of what is zero, of what was not seen though there may have been some, and of what is
 * not known. */
void text_rest(struct sink *s, const struct text_rows *r);

/* Several of a kind, one line each: totals and peaks of what has a heading in a line. */
void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind);
void text_targets(struct sink *s, const struct summary *summary);

/* Phases and the program's own figures; nothing when nobody said anything. */
void text_marks(struct sink *s, const struct mark_totals *t);
