/* SPDX-License-Identifier: MIT
 * What happened between the samples of a SQLite file, each as a line of a record. */
#pragma once

#include "base/io/sqlite.h"
#include "base/text/json.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/summary.h"

/* ==== Sqlite figures ========================================================================== */

/* Rows of a SQLite file that have a column for each metric. */

enum { SQLITE_COLUMNS_AT_MOST = 256 };

/* Which metric each column of a statement is, found by their names once. */
struct sqlite_figures {
    enum entity_kind kind;
    int columns;
    int of[SQLITE_COLUMNS_AT_MOST]; /* the number of a metric in its kind, or one of: */
};

enum { COLUMN_IS_NO_METRIC = -1, COLUMN_IS_UNKNOWN = -2 };

/* first: where metrics may begin; others, in spaces, are names that are none. */
void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, const char *others);

/* The row that is there; NULL is unknown. False when a figure is none. */
bool sqlite_figures_take(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret);

/* The name of a column that means nothing here and has a value, or NULL. */
const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st);

/* ==== Sqlite lines ============================================================================ */

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

/* ==== Sqlite samples ========================================================================== */

/* The samples of a SQLite file, each as a line of a record. */

/* A statement and the meaning of its columns, for each table that the file has. */
struct sqlite_samples {
    struct {
        struct sqlite_statement *statement; /* owned; NULL: there is no such table */
        struct sqlite_figures figures;
        int ended;       /* the column, -1: there is none … */
        int lower_bound; /* … and likewise */
    } of[ENTITY_KINDS + 1];
};

struct sqlite_sample {
    int64_t run;
    uint64_t tick, time_ns, elapsed_ns, interval_ns;
    bool is_last;
    uint64_t is_between; /* not 0: it is */
    uint64_t gpu_count;  /* 0: nobody has told */
    const struct run *facts;
    const struct selection *selection; /* what the run was asked for */
};

int sqlite_samples_init(struct sqlite_samples *x, struct sqlite *db, struct toll_error *e);
void sqlite_samples_done(struct sqlite_samples *x);

/* Adds the line, without newline. */
int sqlite_samples_add(struct sqlite_samples *x, struct buf *b, const struct sqlite_sample *s,
                       struct toll_error *e);
