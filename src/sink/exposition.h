/* SPDX-License-Identifier: MIT
 * Figures as text that Prometheus and its relatives read: OpenMetrics 1.0, or the older text format
 * that Pushgateway and the textfile collector want.
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

/* What a sample of a series begins with, labels and the blank behind them included. */
void exposition_series(struct buf *b, const struct point_row *row, const struct metric *m);

/* A number as such text has it: NaN and infinity too. */
void exposition_number(struct buf *b, double value);

/* The newest value of each series, and what became of the run. */
struct exposition {
    struct points *points; /* borrowed */
    double *values;        /* owned, by series; NAN: there is none */
    size_t count;
    struct labels of_run;
    struct run_end end;
};

/* With the id of the run where the points have it. */
void exposition_begin(struct exposition *x, const struct run *run);

void exposition_done(struct exposition *x);

/* Takes the values of a piece over. 0 or -ENOMEM. */
int exposition_take(struct exposition *x, const char *chunk, size_t length);

/* Adds the piece that tells the end of a run. */
void exposition_add_end(struct buf *b, const struct summary *s);

/* … and takes it over: what was so at a moment is so no longer, what was counted stays. */
void exposition_take_end(struct exposition *x, const char *chunk, size_t length);

/* The samples of a batch, and the end when it is among them. */
void exposition_take_batch(struct exposition *x, const struct batch *b);

/* All of it, families one after the other. */
void exposition_write(const struct exposition *x, struct buf *b, enum exposition_flavour flavour);
