/* SPDX-License-Identifier: MIT
 * The conversation with an MLflow tracking server: the run is made or joined when the first thing
 * is to be logged into it, then operations are requests. One thread at a time. */
#pragma once

#include "sink/http.h"
#include "sink/spool.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== Mlflow client =========================================================================== */

enum { MLFLOW_ID_BYTES = 64, MLFLOW_URI_BYTES = 512 };

/* The tag that nests a run below another one. */
#define MLFLOW_PARENT_TAG "mlflow.parentRunId"

/* What is known of a run, plain bytes. */
struct mlflow_run {
    char experiment_id[MLFLOW_ID_BYTES]; /* "": not known */
    char run_id[MLFLOW_ID_BYTES];        /* "": there is none yet */
    char artifacts[MLFLOW_URI_BYTES];    /* where they go, "": not known */
    bool may_exist;                      /* it was asked for, and no answer came */
};

struct mlflow_client {
    struct sink *sink; /* borrowed */
    struct http *http; /* owned */
    char *base;        /* owned: the URL without a slash at its end */
    char *experiment;  /* owned: its name, NULL: by its ID */
    char *create; /* owned: the body that makes the run, without the experiment; NULL: joined */
    char id[UUID_BYTES]; /* a tag of the run, to find it by when no answer came */
    struct mlflow_run run;
    uint64_t timeout_ns; /* of a request, 0: as the sink says */
    bool is_joined;      /* the run is somebody else's: it is never ended */
    bool has_spool;      /* what is not taken now can wait */
    bool is_refused;     /* the run cannot be made or logged into … */
    char refusal[256];   /* … because of this */
    unsigned html_errors;
    struct buf url, body;
};

/* Whether the text may be the ID of a run or of an experiment. */
bool mlflow_client_is_id(const char *text);

/* Makes the run, or finds it; nothing when it is there already. */
enum delivery mlflow_client_prepare(struct mlflow_client *c, struct attempt *a);

/* 1: a run that is there has such a metric, and not such a tag. 0: not so. -EAGAIN: the server does
 * not say. */
int mlflow_client_run_has(struct mlflow_client *c, const char *metric, const char *tag);

/* Does what the operation says, once the run is there. DELIVERY_KEPT: not now and not by asking
 * again, but somebody with other credentials, another URL or another run may. */
enum delivery mlflow_client_do(struct mlflow_client *c, const struct spool_op *op,
                               struct attempt *a);

void mlflow_client_done(struct mlflow_client *c);

/* ==== Mlflow answer =========================================================================== */

/* What a server of MLflow says, in as far as it matters. */

/* The text of the first member of that name that is one, at whatever depth:
 * {"run":{"info":{"run_id":"ab"}}}. False when there is none, it has other letters than those of
 * ASCII, or does not fit. */
bool mlflow_answer_text(const char *body, size_t length, const char *name, char *ret,
                        size_t capacity);

/* Whether its "error_code" is that word. */
bool mlflow_answer_is(const char *body, size_t length, const char *error_code);
