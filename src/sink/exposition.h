/* SPDX-License-Identifier: MIT
 * Figures as text that Prometheus and its relatives read: OpenMetrics 1.0, or the older text format
 * that Pushgateway and the textfile collector want.
 *
 *   # TYPE toll_target_cpu_seconds counter
 *   # UNIT toll_target_cpu_seconds seconds
 *   # HELP toll_target_cpu_seconds CPU time in user and system mode together
 *   toll_target_cpu_seconds_total{instance="box",run="make",scope="main"} 1.5
 *   # EOF
 */
#pragma once

#include "sink/points.h"

enum exposition_flavour { EXPOSITION_OPENMETRICS, EXPOSITION_TEXT };

/* The lines that describe a family. */
void exposition_family(struct buf *b, enum entity_kind kind, const struct metric *m,
                       enum exposition_flavour flavour);

/* What a sample of a series begins with, labels and the blank behind them included. */
void exposition_series(struct buf *b, const struct point_row *row, const struct metric *m);

/* A number as such text has it: NaN and infinity too. */
void exposition_number(struct buf *b, double value);

/* The newest value of each series. */
struct exposition {
    struct points *points; /* borrowed */
    double *values;        /* owned, by series; NAN: there is none */
    size_t count;
};

void exposition_done(struct exposition *x);

/* Takes the values of a piece over. 0 or -ENOMEM. */
int exposition_take(struct exposition *x, const char *piece, size_t length);

/* All of it, families one after the other. */
void exposition_write(const struct exposition *x, struct buf *b, enum exposition_flavour flavour);
