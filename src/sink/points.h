/* SPDX-License-Identifier: MIT
 * The figures of a frame as numbered points, for those who send them: what is sampled is but a
 * number and a value each, what they are of is looked up by whoever encodes them, once for many.
 *
 * Single processes have none: a label for each pid would be a series for each pid. */
#pragma once

#include "metric/frame.h"
#include "metric/selection.h"
#include "sink/labels.h"

#include <pthread.h>

/* A piece is a head and its points, as they are in memory. */
struct points_head {
    int64_t time_ms; /* since 1970, rising from piece to piece */
    uint64_t count;
};

struct point {
    uint64_t series; /* see points_series */
    double value;
};

/* The metrics of one entity that were ever seen. */
struct point_row {
    enum entity_kind kind; /* ENTITY_TARGET for a part of one */
    struct labels labels;
    uint64_t seen;  /* bits of metrics */
    enum part part; /* of a target */
    char *target;   /* owned: which of several; NULL: all together, or it is of none */
    char *name;     /* owned: of a thing; NULL: it is none */
    struct {
        char *key, *value;  /* owned */
    } about[ENTITY_LABELS]; /* what else is said of a thing; key NULL behind the last */
};

/* What is said of a thing under that key, or NULL. */
const char *point_row_about(const struct point_row *r, const char *key);

struct points {
    pthread_mutex_t lock;    /* of rows: one thread samples, another sends */
    struct point_row **rows; /* owned; NULL: not seen yet */
    size_t row_count;
    const struct run *run; /* borrowed */
    bool with_id;          /* every series has the id of the run */
    int64_t last_ms;
};

void points_init(struct points *p);
void points_done(struct points *p);

/* Adds the piece of a frame to *out. */
void points_add(struct points *p, const struct run *run, const struct selection *selection,
                const struct frame *f, struct buf *out);

/* … and one that ends all series, with the value that says so. */
void points_add_end(struct points *p, struct buf *out);

/* Calls each with every point of a piece. */
void points_read(const char *piece, size_t length,
                 void (*each)(void *arg, int64_t time_ms, const struct point *point), void *arg);

/* What marks the end of a series, as a bit pattern: a NaN that is none that a CPU makes. */
#define POINTS_END_BITS UINT64_C(0x7ff0000000000002)

/* The series of a point: its row, which stays as it is, and its metric. */
const struct point_row *points_series(struct points *p, uint64_t series,
                                      const struct metric **ret_metric);

/* How many rows there may be; each is looked up by the number of one of its series. */
size_t points_row_count(struct points *p);
const struct point_row *points_row(struct points *p, size_t row); /* NULL: not seen yet */

/* "toll_target_cpu_seconds", without what a format puts behind a counter. */
void points_name(struct buf *b, enum entity_kind kind, const struct metric *m);
