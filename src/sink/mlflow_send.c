/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_send.h"

#include "base/err.h"
#include "sink/mlflow_setup.h"
#include "sink/mlflow_sink.h"

#include <stdio.h>
#include <string.h>

enum { ATTEMPTS = 3 };

/* What the file says of itself. */
struct content {
    bool is_spool;
    uint64_t samples;
    char *id, *to, *experiment, *create; /* owned; NULL: nothing */
    char experiment_id[MLFLOW_ID_BYTES];
    char run_id[MLFLOW_ID_BYTES];
};

static void content_done(struct content *c)
{
    free(c->id);
    free(c->to);
    free(c->experiment);
    free(c->create);
}

static char *copy(struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    return length ? strndup(text.at, length) : NULL;
}

static void copy_id(char to[MLFLOW_ID_BYTES], struct scan text)
{
    char *id = copy(text);
    if (id && mlflow_client_is_id(id))
        snprintf(to, MLFLOW_ID_BYTES, "%s", id);
    free(id);
}

static int look_at(void *arg, const struct mlflow_op *op)
{
    struct content *c = arg;
    struct scan name = op->name;
    uint64_t samples;
    char **text = op->kind == MLFLOW_SPOOL        ? &c->id
                  : op->kind == MLFLOW_TO         ? &c->to
                  : op->kind == MLFLOW_EXPERIMENT ? &c->experiment
                  : op->kind == MLFLOW_CREATE     ? &c->create
                                                  : NULL;
    if (!c->is_spool && op->kind != MLFLOW_SPOOL)
        return -EINVAL;
    c->is_spool = true;
    if (text) {
        free(*text);
        *text = copy(op->body);
    }
    if (op->kind == MLFLOW_EXPERIMENT)
        copy_id(c->experiment_id, op->name);
    if (op->kind == MLFLOW_RUN)
        copy_id(c->run_id, op->name);
    if (op->kind == MLFLOW_SAMPLES && scan_u64(&name, &samples))
        c->samples += samples;
    return 0;
}

/* A file that toll was killed over may end with half an operation: what is before it counts. */
static int read_content(struct mlflow_spool *spool, struct content *c, struct toll_error *e)
{
    uint64_t end = 0;
    int r = mlflow_spool_each(spool, &end, look_at, c);
    if (!c->is_spool)
        return err_set(e, -EINVAL, "'%s' is not a spool of toll", spool->path);
    if (r == -EBADMSG) {
        r = ftruncate(spool->fd, (off_t)end) < 0 ? -errno : 0;
        spool->length = end;
    }
    return r < 0 ? err_set(e, r, "cannot read '%s': %s", spool->path, strerror(-r)) : 0;
}

/* Where it was meant to go, or where it is to go now: then the experiment may be another one too,
 * and the run is made there. */
static int open_sink(struct sink **ret, const struct content *c, const char *destination,
                     struct toll_error *e)
{
    struct selection everything;
    struct toll_output o = {.size = sizeof o, .destination = destination ? destination : c->to};
    if (!o.destination)
        return err_set(e, -EINVAL, "the spool does not say where to; name it, mlflow:URL");
    if (strncmp(o.destination, "mlflow:", 7) != 0)
        return err_set(e, -EINVAL, "this spool is for MLflow: it goes to 'mlflow:URL', not '%s'",
                       o.destination);
    int r = selection_parse(&everything, NULL, e);
    return r < 0 ? r : sink_open(ret, &o, &everything, e);
}

/* The one it was for, or one like it elsewhere; or one that is named now, which is not ended. The
 * run of MLFLOW_RUN_ID is that of the job we are in, not of what is sent. */
static int set_run(struct sink *s, struct mlflow_client *client, struct content *c,
                   bool is_elsewhere, struct toll_error *e)
{
    if (sink_options_has(&s->settings, "run_id"))
        return 0;
    int r = mlflow_setup_run(s, client, false, e);
    if (r < 0)
        return r;
    if (c->id && strlen(c->id) == sizeof client->id - 1 && mlflow_client_is_id(c->id))
        memcpy(client->id, c->id, sizeof client->id);
    if (!is_elsewhere || !c->create) {
        client->run = (struct mlflow_run){0};
        memcpy(client->run.run_id, c->run_id, sizeof c->run_id);
        memcpy(client->run.experiment_id, c->experiment_id, sizeof c->experiment_id);
        free(client->experiment);
        client->experiment = c->experiment;
        c->experiment = NULL;
    }
    client->run.may_exist = true; /* an attempt before this one may have made it */
    client->create = c->create;
    c->create = NULL;
    return 0;
}

static int send_all(struct mlflow_desk *d, struct attempt *a)
{
    enum delivery done = DELIVERY_AGAIN;
    for (unsigned i = 0; i < ATTEMPTS && done == DELIVERY_AGAIN; i++) {
        if (i)
            usleep(250000U << i);
        done = mlflow_desk_send_spool(d, a);
    }
    return done == DELIVERY_DONE ? 0 : -EIO;
}

static int send_to(struct sink *s, struct mlflow_spool *spool, struct content *c, bool is_elsewhere,
                   struct toll_sent *ret, struct toll_error *e)
{
    struct mlflow_desk *d = mlflow_sink_desk(s);
    struct attempt a = {0};
    int r = set_run(s, &d->client, c, is_elsewhere, e);
    if (r < 0)
        return r;
    d->client.has_spool = true;
    mlflow_spool_done(&d->spool);
    d->spool = *spool;
    *spool = (struct mlflow_spool){.fd = -1};
    d->run_is_told = is_elsewhere || *c->run_id;
    if (!*d->client.run.run_id && !d->client.create)
        return err_set(e, -EINVAL, "'%s' does not say which run it is for", d->spool.path);
    char *path = strdup(d->spool.path);
    r = send_all(d, &a);
    ret->samples = a.returned;
    ret->refused = a.rejected;
    snprintf(ret->run, sizeof ret->run, "%s", d->client.run.run_id);
    if (r < 0)
        err_set(e, r, "%s: %s; '%s' stays as it is", s->name, a.why, path ? path : "");
    else if (a.is_partly || a.rejected)
        r = err_set(e, -EREMOTEIO, "%s: not everything was taken: %s", s->name, a.why);
    free(path);
    return r;
}

int mlflow_send(const char *path, const char *destination, struct toll_sent *ret,
                struct toll_error *e)
{
    struct mlflow_spool spool;
    struct content content = {0};
    struct sink *s = NULL;
    int r = mlflow_spool_open(&spool, path);
    if (r < 0)
        return r == -EBUSY     ? err_set(e, r, "'%s' is being written by another toll", path)
               : r == -EBADMSG ? err_set(e, -EINVAL, "'%s' is not a spool of toll", path)
                               : err_set(e, r, "cannot open '%s': %s", path, strerror(-r));
    r = read_content(&spool, &content, e);
    if (r == 0)
        r = open_sink(&s, &content, destination, e);
    if (r == 0 && s)
        r = send_to(s, &spool, &content, destination != NULL, ret, e);
    sink_close(s, false);
    content_done(&content);
    if (spool.fd >= 0) /* it stays */
        close(spool.fd);
    free(spool.path);
    return r;
}
