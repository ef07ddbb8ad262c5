/* SPDX-License-Identifier: MIT
 * A sink of the kind mlflow, for those who send what it has put aside. */
#pragma once

#include "sink/mlflow/client.h"
#include "sink/mlflow/frames.h"
#include "sink/spooler.h"

/* ==== Mlflow desk ============================================================================= */

/* What the sender's thread has for MLflow: the client, the frames, and the spool, whose head says
 * which run it is for. */

struct mlflow_desk {
    struct mlflow_client client;
    struct mlflow_frames frames;
    struct spooler spooler;
    bool run_is_told; /* the spool says which run it is */
};

/* The sink's options, and the client, are there already. 0, or -errno and a sentence. */
int mlflow_desk_init(struct mlflow_desk *d, struct sink *s, struct toll_error *e);
void mlflow_desk_done(struct mlflow_desk *d);

/* ==== Mlflow sink ============================================================================= */

/* Borrowed from an open sink that has not begun. */
struct mlflow_desk *mlflow_sink_desk(struct sink *s);

/* ==== Mlflow early ============================================================================ */

/* Questions to the server before there is a sender, by a helper process: whatever the network, the
 * server or the lookup of its name do, it takes no longer than it may, and leaves nothing behind.
 */

/* Makes the run, so that the command can be told of it. 0; -ETIMEDOUT, -EIO, … and the reason in
 * *a. client->run has what is known either way. */
int mlflow_early_create(struct mlflow_client *c, uint64_t timeout_ns, struct attempt *a);

/* Does all operations of a text, as far as there is time. */
void mlflow_early_do(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops);
