/* SPDX-License-Identifier: MIT
 * The number that stands in a cell: what the terms of its column come to in this sample, seen
 * beside the row before. */
#pragma once

#include "dialect/term_figure.h"

/* Shorter than that little can be said of a CPU: the kernel counts in hundredths of a second. */
#define SHORT_SECONDS 0.1

/* Shorter than that nothing can be said of the CPUs of the machine, which are counted in ticks
 * alone: a busy machine may seem to be idle. */
#define SHORTEST_SECONDS 0.02

/* What is remembered of a row from sample to sample; of each column, all in one block. */
struct translation_row {
    double *before;        /* owned, the block: counters at the row before, in their unit … */
    double *since;         /* … and when that was, in seconds since the start */
    double *earlier;       /* counters at a row before that one, at least SHORT_SECONDS older … */
    double *earlier_since; /* … and when; or at the first row, where none is that old */
    double *next_earlier; /* those that become the earlier ones as soon as they are old enough … */
    double *next_since;   /* … and when; NAN: none */
    double *at_mark;      /* 1: the row before was taken for the sake of a mark */
    double *whole;        /* of a share: what it is of, at the row before */
    double *held;         /* gauges as they were last read … */
    double *held_at;      /* … and when */
    double *shown;        /* gauges as they were last told */
    double *means;        /* of the samples so far, where a row is made of several … */
    double *weights;      /* … and for how long they stood */
    bool is_based;        /* what counters had before the first row is known */
    bool has_begun;       /* there was a row */
    bool has_lived;       /* its processes were seen alive … */
    bool end_is_told;     /* … and the row that has their end is written */
};

/* 0 or -ENOMEM. */
int translation_row_init(struct translation_row *row, size_t columns);

/* What a column is divided by, as terms; NULL: by nothing, or by the number of an option. */
const char *cell_divisor(const struct dialect_choice *c, const struct dialect_column *column);

/* Whether a row is the mean of its samples in this column. */
bool cell_is_averaged(const struct translation *t, const struct dialect_column *c);

/* Seconds since the start. */
double cell_elapsed(const struct row_of *r);

/* The figure of a sample, before it becomes a cell. What is seen is remembered. */
double cell_look(const struct translation *t, const struct row_of *r, size_t column,
                 struct translation_row *state);

/* What counters had before the run is not what it used: they count from this sample, or, when it
 * makes a row itself, from the next one. */
void cell_base(const struct translation *t, const struct row_of *r, size_t column,
               struct translation_row *state, bool makes_row);

/* The number of the cell of a row, NAN when it is not known. */
double cell_figure(const struct translation *t, const struct row_of *r, size_t column,
                   struct translation_row *state);
