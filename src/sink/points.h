/* SPDX-License-Identifier: MIT
 * The figures of a frame as numbered points, for sinks that send series. While a sample is taken a
 * point is a number and a value; the thread that encodes points looks up what they are.
 *
 * Single processes have no points: a label for each pid would be a series for each pid. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "sink/sender.h"
#include "sink/sink.h"
#include "summary/summary.h"

#include <pthread.h>

/* ==== Labels ================================================================================== */

/* Labels of series as Prometheus wants them: names of letters, digits and _, each once, sorted;
 * values of valid UTF-8, not empty. */

/* Labels of the user leave room for toll's own, which distinguish series. */
enum { LABELS_AT_MOST = 128, LABELS_OF_USER_AT_MOST = 100 };

struct labels {
    struct {
        char *name, *value; /* owned */
    } items[LABELS_AT_MOST];
    size_t count;
    bool failed; /* no memory, or too many */
};

/* Keeps them sorted. A name that is in use gets "label_" in front; an empty value adds nothing. */
void labels_add(struct labels *l, const char *name, const char *value);

/* run, instance, id if with_id; job_id, array_index, rank, local_rank and world_size where they are
 * known. */
void labels_add_run(struct labels *l, const struct run *run, bool with_id);

/* Those of the user, after all others: toll's own keep their names. */
void labels_add_users(struct labels *l, const struct run *run);

/* Whether some series, though not all, have a label of toll's with that name. */
bool labels_is_of_instances(const char *name);

/* Whether there is one of that name and value. */
bool labels_has(const struct labels *l, const char *name, const char *value);

void labels_done(struct labels *l);

/* ==== Points ================================================================================== */

/* A chunk is a head and its points, as they are in memory. */
struct points_head {
    int64_t time_ms; /* since 1970, rising from chunk to chunk */
    uint64_t count;
};

struct point {
    uint64_t series; /* see points_series */
    double value;
};

/* The metrics of one entity that were ever seen. */
struct point_row {
    enum entity_kind kind; /* ENTITY_TARGET for a part of a target */
    struct labels labels;
    uint64_t seen;  /* bits of metrics */
    enum part part; /* of a target */
    char *target;   /* owned: one of several targets; NULL: all together, or no target */
    char *name;     /* owned: of an instance; or NULL */
    struct {
        char *key, *value;  /* owned */
    } about[ENTITY_LABELS]; /* other labels of an instance; ends with key NULL */
};

/* The value of such a label, or NULL. */
const char *point_row_about(const struct point_row *r, const char *key);

struct points {
    pthread_mutex_t lock;    /* of rows: one thread adds, another reads */
    struct point_row **rows; /* owned; NULL: not seen yet */
    size_t row_count;
    const struct run *run; /* borrowed */
    bool with_id;          /* every series has the id of the run as a label */
    int64_t last_ms;
};

void points_init(struct points *p);
void points_done(struct points *p);

/* Adds the chunk of a frame to *out. */
void points_add(struct points *p, const struct run *run, const struct selection *selection,
                const struct frame *f, struct buf *out);

/* Adds a chunk that ends all series: its values are POINTS_END_BITS. */
void points_add_end(struct points *p, struct buf *out);

/* Calls each with every point of a chunk. */
void points_read(const char *chunk, size_t length,
                 void (*each)(void *arg, int64_t time_ms, const struct point *point), void *arg);

/* The end of a series, as a bit pattern: a NaN that no CPU makes. Prometheus calls it stale. */
#define POINTS_END_BITS UINT64_C(0x7ff0000000000002)

/* The row of a series, which does not change, and its metric. */
const struct point_row *points_series(struct points *p, uint64_t series,
                                      const struct metric **ret_metric);

/* "toll_target_cpu_seconds", without the suffix of a counter. */
void points_name(struct buf *b, enum entity_kind kind, const struct metric *m);

/* ==== Point batch ============================================================================= */

/* All points of a batch in one array, for formats that have each series once with its samples. */

struct placed_point {
    uint64_t series;
    uint64_t number; /* in the order of the batch */
    int64_t time_ms;
    double value;
};

struct point_batch {
    struct placed_point *items; /* owned, used again */
    size_t count, capacity;
};

/* Replaces what it had. 0 or -ENOMEM. */
int point_batch_take(struct point_batch *p, const struct batch *b);

/* By series, each in the order of time. */
void point_batch_sort(struct point_batch *p);

/* Whether it marks the end of its series. */
bool point_is_end(double value);

void point_batch_done(struct point_batch *p);

/* ==== Remote write ============================================================================ */

/* The message of Prometheus remote write 1.0:
 *
 *   message WriteRequest   { repeated TimeSeries = 1; repeated MetricMetadata = 3; }
 *   message TimeSeries     { repeated Label labels = 1; repeated Sample samples = 2; }
 *   message Label          { string name = 1; string value = 2; }
 *   message Sample         { double value = 1; int64 timestamp = 2; }   in milliseconds
 *   message MetricMetadata { type = 1; string metric_family_name = 2; help = 4; unit = 5; }
 *
 * A request has each series once, with its samples in the order of time. */

/* A series: begin it with its labels, to which the name is added, add samples, end it. */
size_t write_request_begin_series(struct buf *b, const char *name, const struct labels *labels);
void write_request_add_sample(struct buf *b, double value, int64_t time_ms);
void write_request_end_series(struct buf *b, size_t began);

void write_request_add_metadata(struct buf *b, const char *name, bool is_counter, const char *help,
                                const char *unit);

/* Adds a request with some figures of another: samples in their order, and descriptions of metrics,
 * which count as one each. Each series keeps all labels. Malformed input adds nothing. */
void write_request_cut(struct buf *b, struct scan request, uint64_t first, uint64_t count);

/* The number of figures. */
uint64_t write_request_count(struct scan request);

/* ==== Text format ============================================================================= */

/* Figures as text for Prometheus: OpenMetrics 1.0, or the older text format of Pushgateway and the
 * textfile collector.
 *   # TYPE toll_target_cpu_seconds counter
 *   # UNIT toll_target_cpu_seconds seconds
 *   # HELP toll_target_cpu_seconds CPU time in user and system mode together
 *   toll_target_cpu_seconds_total{instance="box",run="make",scope="main"} 1.5
 *   # EOF */

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
