/* SPDX-License-Identifier: MIT
 * Frames to metrics of MLflow: numbers while a sample is taken, keys and JSON when they are sent.
 *
 * MLflow's own monitor logs a point of each metric every ten seconds, and servers and charts are
 * made for that. So several samples make one point: of a counter its last value, of a gauge its
 * mean over the time since the point before, each value weighted with the time that it stands for.
 */
#pragma once

#include "base/text/buf.h"
#include "base/text/json.h"
#include "layout/translation.h"
#include "sink/points.h"
#include "sink/sink.h"

/* ==== Mlflow frames =========================================================================== */

enum { MLFLOW_TABLES = 2 };

/* One series since the point before. */
struct mlflow_folded {
    double last;
    double weighted;    /* sum of value times nanoseconds */
    uint64_t weight_ns; /* … and of these */
    uint64_t seen_ns;   /* when it was last known, since the start of the run */
    uint64_t count;     /* of values since the point before */
};

struct mlflow_fold {
    uint64_t interval_ns;         /* one point in each of these; 0: every sample is one */
    struct mlflow_folded *series; /* owned, by their numbers */
    size_t count;
    uint64_t point_ns;         /* when the point before was, since the start of the run */
    struct points_head head;   /* of the last sample … */
    uint64_t step;             /* … and its number */
    unsigned samples;          /* since the point before */
    struct buf sample, points; /* what was just taken, and what is made of it */
};

/* How often a phase of that name has ended. */
struct mlflow_phase {
    char *name; /* owned */
    uint64_t count;
};

struct mlflow_frames {
    struct points points;
    bool has_points; /* our own figures too, not those of a layout alone */
    bool all_parts;
    struct mlflow_fold fold;     /* of our own figures, and of the table beside them */
    struct mlflow_phase *phases; /* owned */
    size_t phase_count;
    _Atomic bool is_doubled; /* the program logs the names of the table itself: ours have another
                                place */
    struct layout_choice *choice; /* borrowed or own; NULL: no tables */
    struct layout_choice own;
    struct translation tables[MLFLOW_TABLES];
    size_t table_count;
    char *prefix;  /* owned: "system/" */
    char *node;    /* owned: "" or "rank_3/" */
    uint64_t step; /* of the last frame */
    struct buf key, name;
};

/* all_parts: the main process and its descendants apart, the cgroup and toll itself, too. 0 or
 * -errno. */
int mlflow_frames_init(struct mlflow_frames *f, struct sink *s, bool all_parts, const char *prefix,
                       const char *node, uint64_t interval_ns, struct toll_error *e);
void mlflow_frames_done(struct mlflow_frames *f);

/* They add a piece to sink->text, or nothing; sink->folded is how many samples it has. */
void mlflow_frames_put(struct mlflow_frames *f, struct sink *s, const struct frame *frame);
void mlflow_frames_put_gauge(struct mlflow_frames *f, struct sink *s, const struct told_mark *m);
void mlflow_frames_put_phase(struct mlflow_frames *f, struct sink *s, const struct told_mark *m);

/* What is left when the run is over without a last sample, as in a record that was cut short: a
 * piece in *out, and how many samples are in it; 0: nothing is left. */
unsigned mlflow_frames_rest(struct mlflow_frames *f, struct buf *out);

/* The key that MLflow's own monitor always logs, as far as we would log it too; NULL: we do not.
 * Until the next call of it or of mlflow_frames_encode(). */
const char *mlflow_frames_key_of_monitor(struct mlflow_frames *f);

/* The pieces of a batch as operations; those that are of neither are operations already. */
void mlflow_frames_encode(struct mlflow_frames *f, const struct batch *b, struct buf *ops);

/* ==== Mlflow key ============================================================================== */

/* Names that an MLflow server takes for metrics and tags: [A-Za-z0-9_./: -], at most 250 of them,
 * and such that a path would be (no empty part, no "." or "..", none at either end). */

enum { MLFLOW_KEY_BYTES = 250 };

/* Adds what a name would be without the letters it must not have, which become _. One that is too
 * long is cut, and ends with a number made of all of it. */
void mlflow_key(struct buf *b, const char *name);

/* The same for one part of a name, which has no slash then. */
void mlflow_key_part(struct buf *b, const char *name);

/* ==== Mlflow metrics ========================================================================== */

/* Metrics as requests that an MLflow server takes. */

/* What the server takes in one request. */
enum { MLFLOW_METRICS_AT_MOST = 1000, MLFLOW_TAGS_AT_MOST = 100 };

/* Collects metrics into operations that are not too large. */
struct mlflow_metrics {
    struct buf *ops; /* borrowed */
    struct buf body;
    struct json_out json;
    size_t count;
};

/* Values that are no numbers are written as the texts that the server reads as such. */
void mlflow_metrics_add(struct mlflow_metrics *m, const char *key, double value, int64_t time_ms,
                        uint64_t step);
void mlflow_metrics_end(struct mlflow_metrics *m);
