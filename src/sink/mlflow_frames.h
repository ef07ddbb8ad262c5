/* SPDX-License-Identifier: MIT
 * Frames to metrics of MLflow: numbers while a sample is taken, keys and JSON when they are sent.
 */
#pragma once

#include "dialect/translation.h"
#include "sink/points.h"
#include "sink/sink.h"

enum { MLFLOW_TABLES = 2 };

struct mlflow_frames {
    struct points points;
    bool has_points; /* our own figures too, not those of a dialect alone */
    bool all_parts;
    struct dialect_choice *choice; /* borrowed or own; NULL: no tables */
    struct dialect_choice own;
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
                       const char *node, struct toll_error *e);
void mlflow_frames_done(struct mlflow_frames *f);

/* Both add a piece to sink->text, or nothing. */
void mlflow_frames_put(struct mlflow_frames *f, struct sink *s, const struct frame *frame);
void mlflow_frames_put_gauge(struct mlflow_frames *f, struct sink *s, const struct told_mark *m);

/* The pieces of a batch as operations; those that are of neither are operations already. */
void mlflow_frames_encode(struct mlflow_frames *f, const struct batch *b, struct buf *ops);
