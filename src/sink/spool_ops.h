/* SPDX-License-Identifier: MIT
 * What is to be done at a server: what is sent and what is put aside in a spool are the same bytes.
 * An operation is a line with its kind, a name or "-", and the length of its body, then the body
 * and a newline. Those of every output:
 *
 *     toll-spool mlflow 36   the kind of output; the body is its id
 *     0193…
 *     to - 26
 *     mlflow:http://localhost:5000
 *     samples 12 0           so many samples were in what stands before it
 *     sent 4711 0            the first 4711 bytes of the file were sent to its destination; a body
 *                            is how much of the operation behind them was
 *     skip 20 0              of the next operation the first 20 figures were sent before
 *
 * Of remote write and OTLP:
 *
 *     request 105 2150       105 figures: the protocol buffer, not compressed
 *     request metadata 900   … descriptions of metrics, without which samples are whole all the
 * same
 *
 * Of MLflow:
 *
 *     create - 30            makes the run that the rest is for
 *     run ID 0               … which has this ID by now
 *     batch - 53             metrics and tags
 *     {"metrics":[{"key":"system/target_threads",…}]}
 *     params - 58            as a batch; refused, they take nothing else with them
 *     artifact toll/summary.json 2150    its path, as it stands in a URL
 *     update - 46            how the run ended
 *
 * Its bodies are JSON objects without the ID of the run, which is put in front when they are sent.
 */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

enum spool_op_kind {
    SPOOL_HEAD, /* first in a file: what it is */
    SPOOL_TO,
    SPOOL_CREATE,
    SPOOL_EXPERIMENT,
    SPOOL_RUN,
    SPOOL_BATCH,
    SPOOL_PARAMS,
    SPOOL_ARTIFACT,
    SPOOL_UPDATE,
    SPOOL_SAMPLES,
    SPOOL_SENT,
    SPOOL_REQUEST,
    SPOOL_SKIP,
    SPOOL_OPS
};

struct spool_op {
    enum spool_op_kind kind;
    struct scan name; /* empty for "-" */
    struct scan body;
};

/* The name has neither blanks nor newlines in it. */
void spool_ops_add(struct buf *b, enum spool_op_kind kind, const char *name, const char *body,
                   size_t length);

/* 1: *ret is the next one, and the text is behind it. 0: there is no more. -EBADMSG: it is none, or
 * is cut short. */
int spool_ops_next(struct scan *text, struct spool_op *ret);
