/* SPDX-License-Identifier: MIT
 * The interpreter: figures from wherever they are, in the columns of a dialect's table. */
#pragma once

#include "base/buf.h"
#include "dialect/dialect_choice.h"
#include "dialect/terms.h"

/* Whose figure it is. */
struct dialect_place {
    enum entity_kind kind;
    enum part part;
    size_t target; /* of several, from 1; 0: all together */
    size_t thing;  /* of its kind, from 0 */
    enum metric_id id;
};

/* Where figures are: a frame, a summary, or a frame that a program was handed. */
struct dialect_source {
    const void *of;
    /* In the metric's unit, NAN when it is not known. A frame has but one answer to every take. */
    double (*figure)(const void *of, const struct dialect_place *place, enum dialect_take take);
    /* How many things of a kind there are; of ENTITY_TARGET: of several targets, otherwise 0. */
    size_t (*count)(const void *of, enum entity_kind kind);
    /* target: as in a place. NAN when it is not known. */
    double (*fact)(const void *of, enum dialect_fact fact, size_t target);
    /* Of a target or of a thing; "" when it has none. */
    const char *(*name)(const void *of, enum entity_kind kind, size_t number);
    /* The most that a figure of the job's own came to, NAN when it told none. */
    double (*own)(const void *of, const char *name);
    /* Of the mount with that number. */
    enum space_kind (*space)(const void *of, size_t thing);
    bool between;  /* this sample was taken for the sake of a mark */
    bool is_paced; /* samples come by themselves; otherwise a program has asked for each row */
    bool is_summary;
    /* Whether a figure is not known because a process that has some of it could not be read. NULL:
     * none is. */
    bool (*is_partial)(const void *of, const struct dialect_place *place);
};

/* What stands in a column of a row. */
struct dialect_cell {
    double number;    /* NAN: not known */
    const char *text; /* of a text, otherwise NULL */
};

/* What is remembered of a row from sample to sample. */
struct translation_row;

struct translation {
    const struct dialect_choice *choice; /* borrowed */
    const struct dialect_table *table;
    struct terms *terms;          /* owned, of each column … */
    struct terms *divisors;       /* … of what it is divided by … */
    struct terms *otherwise;      /* … and of what stands for those that are not known */
    struct translation_row *rows; /* owned */
    size_t row_count;             /* of the rows that are remembered */
    struct dialect_cell *cells;   /* owned: row after row */
    char (*texts)[64];            /* owned: of texts that are made, one for each cell */
    size_t ready;                 /* rows in cells */
    size_t samples;               /* that came since the last rows */
    uint64_t step;                /* how often there were rows … */
    double row_at;                /* … and when the last ones were, in seconds since the start */
    bool has_gpus;
    bool is_last;            /* the end is in this sample … */
    bool is_cut;             /* … and came too soon behind a row for one of its own */
    bool was_fed;            /* a sample was there before */
    bool is_paced_by_caller; /* samples are gathered until is_due, however many they are */
    bool is_due;
};

/* 0 or -ENOMEM. */
int translation_open(struct translation *t, const struct dialect_choice *choice,
                     const struct dialect_table *table);
void translation_done(struct translation *t);

/* One more sample. The number of rows that are ready, 0 while a row is being averaged; last: what
 * is there has to do. -ENOMEM. */
int translation_put(struct translation *t, const struct dialect_source *s, bool last);

/* Nanoseconds since 1970 do not fit into a double: rounded once, not twice. */
static inline double dialect_seconds(uint64_t ns)
{
    return (double)(ns / NS_PER_SECOND) + (double)(ns % NS_PER_SECOND) / 1e9;
}

static inline const struct dialect_cell *translation_cell(const struct translation *t, size_t row,
                                                          size_t column)
{
    return &t->cells[row * t->table->count + column];
}

/* The name of a column, with its prefix. */
void translation_name(struct buf *b, const struct translation *t, size_t column);

/* Whether every row of the table has to have what only page tables tell. */
bool dialect_table_needs_rollup(const struct dialect_table *table);

/* Whether the table has figures of the machine. */
bool dialect_table_needs_system(const struct dialect_choice *c, const struct dialect_table *table);
