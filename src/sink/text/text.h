/* SPDX-License-Identifier: MIT
 * The parts of a summary for people: tables of one instance or of several, GPUs, marks, outputs. */
#pragma once

#include "sink/words.h"
#include "summary/summary.h"

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
    bool is_heading, is_row;   /* of a table: a heading is not left without rows */
    const char *style;         /* escape sequence, or NULL */
};

/* Zeroed is empty. */
struct text_block {
    struct text_line lines[TEXT_BLOCK_LINES];
    unsigned count;
    enum byte_units units;
};

/* A new line at the end, to be filled in. Past the last the newest is replaced. */
struct text_line *text_block_add(struct text_block *b, enum text_rank rank, const char *label);

/* Writes at most so many lines, as wide as that, and empties the block. */
void text_block_write(struct text_block *b, struct sink *s, unsigned most, unsigned width);

/* The width of a column of figures, which plain bytes need more of. */
static inline unsigned text_wide(const struct buf *b, unsigned width)
{
    enum { DIGITS_MORE = 6 };
    return width + (b->units == BYTES_PLAIN ? DIGITS_MORE : 0);
}

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
void text_unavailable(struct sink *s, const struct text_rows *r, uint64_t elapsed_ns);

/* Several of a kind, one line each: totals and peaks of what has a heading in a line. */
void text_kind(struct sink *s, const struct summary *summary, enum entity_kind kind);
void text_targets(struct sink *s, const struct summary *summary);

/* Phases, gauges and counts of the marks; nothing without marks. */
void text_marks(struct sink *s, const struct mark_totals *t);

/* The threads with most CPU time; nothing where none were asked for. */
void text_threads(struct sink *s, const struct summary *summary);

/* A table of the GPUs, unless the table of the machine has it (has_table), and how long each was
 * idle. Nothing where no GPU was read. */
void text_gpus(struct sink *s, const struct summary *summary, bool has_table);

/* ==== The answer at a glance ================================================================== */

#define AT_LEAST "≥ "

/* The block at the beginning of a summary while it is made. */
struct glance {
    struct sink *sink;
    const struct summary *summary;
    struct text_rows rows; /* of the target, or of the machine */
    unsigned width;
    bool has_limit_hit; /* a line names a limit that was reached */
    struct text_block block;
};

/* A figure of the target, or of the machine, as a whole. A lower bound of zero is unknown. */
enum quality glance_quality(const struct glance *g, enum metric_id id);
double glance_figure(const struct glance *g, enum metric_id id);
double glance_mean(const struct glance *g, enum metric_id id);

/* The same with its sign, or "unknown". */
void glance_put(const struct glance *g, struct buf *b, enum metric_id id);

/* The peak of the job's memory, as far as it is known. */
struct memory_peak glance_memory(const struct glance *g);

/* Of many processes: the program with most CPU time, and its share: "cc1 61 % of CPU". */
void glance_put_busiest(const struct glance *g, struct buf *b);

/* GPUs, each or together, and the energy of the run. */
void glance_add_gpus(struct glance *g);
void glance_add_energy(struct glance *g);
void glance_add_job_energy(struct glance *g);

/* Tables in it: each of several targets; phases; the processes, or programs, that used most; the
 * threads, when they were asked for. */
void glance_add_targets(struct glance *g);
void glance_add_phases(struct glance *g);
void glance_add_largest(struct glance *g);
void glance_add_threads(struct glance *g);

/* Quality, notes, outputs, cost. */
void glance_add_foot(struct glance *g);

/* What ran, how it ended, what it used: at most sixteen lines. */
void text_glance(struct sink *s, const struct summary *summary);
