/* SPDX-License-Identifier: MIT
 * The file for what could not be sent: operations (spool_ops.h) one behind the other. It is made
 * when it is needed, for its owner alone, and removed when nothing is left in it. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "toll.h"

/* ==== Spool ops =============================================================================== */

/* What is to be done at a server: what is sent and what is put aside in a spool are the same bytes.
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

/* ==== Spool =================================================================================== */

struct spool {
    char *path;          /* owned; NULL: nothing is put aside */
    struct buf head;     /* what a file begins with */
    int fd;              /* -1: there is none */
    uint64_t length;     /* of the file */
    uint64_t sent;       /* … of which so much has been sent */
    uint64_t most_bytes; /* that it may have, 0: any number */
    bool is_ours;        /* its place is, and is made when it is needed */
};

/* kind: of the output, for its name and for sentences; file: its path, "none", or NULL for one in
 * the state directory of the user; id: part of its name then. Nothing is made yet, but -EINVAL and
 * a sentence when it could not be where it was named. */
int spool_init(struct spool *s, const char *kind, const char *file, const char *id,
               struct toll_error *e);

/* Whether there is anything in it that has not been sent. */
bool spool_has_some(const struct spool *s);

/* All of it or nothing. A file of that name that is there already is somebody's: then it is another
 * one, with a number behind its name. is_last: what must not be missing, however large the file is.
 * 0 or -errno; -EFBIG: it has become as large as it may. */
int spool_add(struct spool *s, const char *data, size_t length, bool is_last);

/* Opens a file that is there, to be sent: nobody else writes to it meanwhile. -EBUSY: somebody
 * does; -EBADMSG: it is no spool. */
int spool_open(struct spool *s, const char *path);

/* Calls visit with every operation from *at on, and moves *at behind those for which it returned 0;
 * otherwise it stops there and returns that. 0 at the end; -EBADMSG where the file makes no sense,
 * or is cut short. */
int spool_each(const struct spool *s, uint64_t *at,
               int (*visit)(void *arg, const struct spool_op *op), void *arg);

/* All of it has been sent: the file is gone. */
void spool_remove(struct spool *s);

/* The file stays when something is in it. */
void spool_done(struct spool *s);
