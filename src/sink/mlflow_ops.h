/* SPDX-License-Identifier: MIT
 * What is to be done at an MLflow server, as text: what is sent and what is put aside in a spool
 * are the same bytes. An operation is a line with its kind, a name or "-", and the length of its
 * body, then the body and a newline:
 *
 *     toll-spool mlflow 2
 *     {}
 *     to - 26
 *     mlflow:http://localhost:5000
 *     create - 30            makes the run that the rest is for
 *     run ID 0               … which has this ID by now
 *     batch - 53             metrics and tags
 *     {"metrics":[{"key":"system/target_threads",…}]}
 *     artifact toll/summary.json 2150    its path, as it stands in a URL
 *     update - 46            how the run ended
 *     samples 12 0           so many samples were in what stands before it
 *
 * Bodies are JSON objects without the ID of the run, which is put in front when they are sent. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

enum mlflow_op_kind {
    MLFLOW_SPOOL, /* first in a file: what it is */
    MLFLOW_TO,
    MLFLOW_CREATE,
    MLFLOW_EXPERIMENT,
    MLFLOW_RUN,
    MLFLOW_BATCH,
    MLFLOW_ARTIFACT,
    MLFLOW_UPDATE,
    MLFLOW_SAMPLES,
    MLFLOW_OPS
};

struct mlflow_op {
    enum mlflow_op_kind kind;
    struct scan name; /* empty for "-" */
    struct scan body;
};

/* The name has neither blanks nor newlines in it. */
void mlflow_ops_add(struct buf *b, enum mlflow_op_kind kind, const char *name, const char *body,
                    size_t length);

/* 1: *ret is the next one, and the text is behind it. 0: there is no more. -EBADMSG: it is none, or
 * is cut short. */
int mlflow_ops_next(struct scan *text, struct mlflow_op *ret);
