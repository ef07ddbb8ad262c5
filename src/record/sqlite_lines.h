/* SPDX-License-Identifier: MIT
 * What happened between the samples of a SQLite file, each as a line of a record. */
#pragma once

#include "metric/selection.h"
#include "record/sqlite_figures.h"

enum sqlite_stream {
    STREAM_SAMPLES,
    STREAM_PROCESSES,
    STREAM_PHASES,
    STREAM_EVENTS,
    STREAM_GAUGES,
    STREAM_NOTES,
    STREAMS,
};

/* Its rows of a run in their order; the first column is seq. */
const char *sqlite_lines_question(enum sqlite_stream stream);

/* The columns of STREAM_SAMPLES behind seq, and all of them once more: some may not be there. */
enum { SAMPLE_TICK = 1, SAMPLE_TIME, SAMPLE_ELAPSED, SAMPLE_INTERVAL, SAMPLE_ALL };

/* Which column of STREAM_PROCESSES is which metric. */
void sqlite_lines_figures(struct sqlite_figures *ret, const struct sqlite_statement *st);

/* Adds the line of the row that is there, of any but a sample. False when a figure is none. */
bool sqlite_lines_add(struct buf *b, enum sqlite_stream stream, const struct sqlite_statement *st,
                      const struct sqlite_figures *figures, const struct selection *selection);
