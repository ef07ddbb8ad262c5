/* SPDX-License-Identifier: MIT
 * Figures as text for Prometheus: OpenMetrics 1.0, or the older text format of Pushgateway and the
 * textfile collector.
 *
 *   # TYPE toll_target_cpu_seconds counter
 *   # UNIT toll_target_cpu_seconds seconds
 *   # HELP toll_target_cpu_seconds CPU time in user and system mode together
 *   toll_target_cpu_seconds_total{instance="box",run="make",scope="main"} 1.5
 *   # EOF */
#pragma once

#include "sink/points.h"
#include "sink/sender.h"
#include "sink/sink.h"

enum exposition_flavour { EXPOSITION_OPENMETRICS, EXPOSITION_TEXT };

/* The lines that describe a family. */
void exposition_family(struct buf *b, enum entity_kind kind, const struct metric *m,
                       enum exposition_flavour flavour);

/* The beginning of a sample: the name, the labels, and a blank. */
void exposition_series(struct buf *b, const struct point_row *row, const struct metric *m);

/* A number; NaN and infinity, too. */
void exposition_number(struct buf *b, double value);

/* The newest value of each series, and how the run ended. */
struct exposition {
    struct points *points; /* borrowed */
    double *values;        /* owned, by series; NAN: none */
    size_t count;
    struct labels of_run;
    struct run_end end;
};

/* The labels of the run; with its id if points->with_id. */
void exposition_begin(struct exposition *x, const struct run *run);

void exposition_done(struct exposition *x);

/* Updates the values from a chunk. 0 or -ENOMEM. */
int exposition_take(struct exposition *x, const char *chunk, size_t length);

/* Adds the chunk of the end of a run. */
void exposition_add_end(struct buf *b, const struct summary *s);

/* Reads the chunk of the end: gauges are removed, counters and peaks stay. */
void exposition_take_end(struct exposition *x, const char *chunk, size_t length);

/* Updates from all chunks of a batch. */
void exposition_take_batch(struct exposition *x, const struct batch *b);

/* Adds all values, family by family. */
void exposition_write(const struct exposition *x, struct buf *b, enum exposition_flavour flavour);
