/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_desk.h"

#include <string.h>

static bool mlflow_encode(void *arg, const struct batch *b, struct buf *ops)
{
    struct mlflow_desk *d = arg;
    mlflow_frames_encode(&d->frames, b, ops);
    return !buf_failed(ops);
}

/* The server keeps one copy of what comes twice: nothing has to be remembered within a request. */
static enum delivery mlflow_send(void *arg, const struct spool_op *op, uint64_t *done,
                                 struct attempt *a)
{
    struct mlflow_desk *d = arg;
    return mlflow_client_do(&d->client, op, a);
}

static void mlflow_add_head(void *arg, struct buf *head)
{
    struct mlflow_desk *d = arg;
    const struct mlflow_client *c = &d->client;
    if (*c->run.experiment_id || c->experiment)
        spool_ops_add(head, SPOOL_EXPERIMENT, c->run.experiment_id,
                      c->experiment ? c->experiment : "",
                      c->experiment ? strlen(c->experiment) : 0);
    if (c->create)
        spool_ops_add(head, SPOOL_CREATE, "", c->create, strlen(c->create));
    d->run_is_told = *c->run.run_id;
    if (d->run_is_told)
        spool_ops_add(head, SPOOL_RUN, c->run.run_id, "", 0);
}

/* Says in the spool which run it is, once that is known. */
static void mlflow_tell_run(void *arg)
{
    struct mlflow_desk *d = arg;
    struct buf op = {0};
    if (d->run_is_told || d->spooler.spool.fd < 0 || !*d->client.run.run_id)
        return;
    spool_ops_add(&op, SPOOL_RUN, d->client.run.run_id, "", 0);
    d->run_is_told = !buf_failed(&op) &&
                     spool_add(&d->spooler.spool, op.data, op.length, true) == 0;
    buf_done(&op);
}

int mlflow_desk_init(struct mlflow_desk *d, struct sink *s, struct toll_error *e)
{
    struct spooler_plan plan = {
        .sink = s,
        .arg = d,
        .encode = mlflow_encode,
        .send = mlflow_send,
        .add_head = mlflow_add_head,
        .after = mlflow_tell_run,
    };
    int r = spooler_init(&d->spooler, &plan, e);
    d->client.has_spool = d->spooler.spool.path;
    memcpy(d->client.id, d->spooler.id, sizeof d->client.id);
    return r;
}

void mlflow_desk_done(struct mlflow_desk *d)
{
    mlflow_client_done(&d->client);
    mlflow_frames_done(&d->frames);
    spooler_done(&d->spooler);
}
