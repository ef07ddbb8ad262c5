/* SPDX-License-Identifier: MIT
 * The parts of a summary for people: tables of one instance or of several, GPUs, marks, outputs. */
#pragma once

#include "sink/words.h"
#include "summary/curve.h"

/* ==== A block of lines ======================================================================== */

enum { TEXT_BLOCK_LINES = 40 };

/* When there are too many lines, a higher rank is kept longer. */
enum text_rank { RANK_REMARK, RANK_DETAIL, RANK_FIGURE, RANK_TROUBLE, RANK_ANSWER };

struct text_line {
    enum text_rank rank;
    const char *label; /* borrowed; NULL: the text begins at the margin of the block */
    struct buf text;
    struct buf detail;         /* follows the text where there is room */
    struct buf remark;         /* at the right */
    struct buf shorter;        /* the remark in fewer columns, or empty */
    const struct curve *curve; /* borrowed, or NULL */
    bool curve_is_peak;        /* the largest value of each column, otherwise the mean */
    const char *style;         /* escape sequence, or NULL */
};

/* Zeroed is empty. */
struct text_block {
    struct text_line lines[TEXT_BLOCK_LINES];
    unsigned count;
};

/* A new line at the end, to be filled in. */
struct text_line *text_block_add(struct text_block *b, enum text_rank rank, const char *label);

/* Writes at most so many lines, and empties the block. */
void text_block_write(struct text_block *b, struct sink *s, unsigned most, unsigned width);

/* Cuts what follows `start` to so many columns, with an ellipsis. */
void text_cut(struct buf *b, size_t start, unsigned columns);

/* Replaces all characters beyond ASCII from `start` on, for terminals that do not show them. */
void text_to_ascii(struct buf *b, size_t start);

/* ==== Tables ================================================================================== */

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

/* A line for each figure, with a heading; nothing without figures. */
void text_table(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns);

/* The titles of the figures without a line, because they are not known. */
void text_unavailable(struct sink *s, const struct text_rows *r);

/* Several of a kind, one line each: totals and peaks of what has a heading in a line. */
void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind);
void text_targets(struct sink *s, const struct summary *summary);

/* Phases, gauges and counts of the marks; nothing without marks. */
void text_marks(struct sink *s, const struct mark_totals *t);

/* A table of the GPUs, unless the table of the machine has it (has_table); how long each was idle;
 * the energy of the run. Nothing where no GPU was read. */
void text_gpus(struct sink *s, const struct summary *summary, bool has_table);

/* ==== The answer at a glance ================================================================== */

#define AT_LEAST "≥ "

/* The block at the beginning of a summary while it is made. */
struct glance {
    struct sink *sink;
    const struct summary *summary;
    struct text_rows rows; /* of the target, or of the machine */
    unsigned width;
    struct text_block block;
};

/* Tables in it: each of several targets; the processes, or programs, that used most. */
void glance_add_targets(struct glance *g);
void glance_add_largest(struct glance *g);

/* What ran, how it ended, what it used: at most sixteen lines. */
void text_glance(struct sink *s, const struct summary *summary);
