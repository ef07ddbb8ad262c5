/* SPDX-License-Identifier: MIT
 * What a courier does with batches for MLflow: send them; put them aside when the server is away
 * for longer, and send that first when it is back. */
#pragma once

#include "sink/mlflow_client.h"
#include "sink/mlflow_frames.h"
#include "sink/mlflow_spool.h"

struct mlflow_desk {
    struct mlflow_client client;
    struct mlflow_frames frames;
    struct mlflow_spool spool;
    struct buf ops;        /* of the batch */
    size_t at;             /* … of which so much is done */
    size_t count_at;       /* … where it says how many samples are in it */
    bool is_refused;       /* … and some of it was refused */
    bool spool_is_refused; /* … and of the spool, since its last count of samples */
    bool run_is_told;      /* the spool says which run it is */
    uint64_t next_ns;      /* when the server is asked again for what is put aside */
    uint64_t wait_ns;
    int spool_failure; /* the last one, or 0 */
    char why[256];     /* the last failure, or "" */
};

enum delivery mlflow_desk_deliver(struct mlflow_desk *d, const struct batch *b, struct attempt *a);
enum delivery mlflow_desk_leave(struct mlflow_desk *d, const struct batch *b, struct attempt *a);

/* Sends what is in the spool. DELIVERY_DONE: all of it, and the file is gone. */
enum delivery mlflow_desk_send_spool(struct mlflow_desk *d, struct attempt *a);

/* Says in the spool which run it is, once that is known. */
void mlflow_desk_tell_run(struct mlflow_desk *d);

void mlflow_desk_done(struct mlflow_desk *d);
