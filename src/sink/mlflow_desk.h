/* SPDX-License-Identifier: MIT
 * What the sender's thread has for MLflow: the client, the frames, and the spool, whose head says
 * which run it is for. */
#pragma once

#include "sink/mlflow_client.h"
#include "sink/mlflow_frames.h"
#include "sink/spooler.h"

struct mlflow_desk {
    struct mlflow_client client;
    struct mlflow_frames frames;
    struct spooler spooler;
    bool run_is_told; /* the spool says which run it is */
};

/* The sink's options, and the client, are there already. 0, or -errno and a sentence. */
int mlflow_desk_init(struct mlflow_desk *d, struct sink *s, struct toll_error *e);
void mlflow_desk_done(struct mlflow_desk *d);
