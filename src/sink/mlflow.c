/* SPDX-License-Identifier: MIT
 * An MLflow tracking server: samples as metrics of a run, the summary at its end. The run is made
 * before the command starts, which is told of it, or is one that is there already. */
#include "base/err.h"
#include "base/url.h"
#include "sink/mlflow_desk.h"
#include "sink/mlflow_early.h"
#include "sink/mlflow_facts.h"
#include "sink/mlflow_setup.h"
#include "sink/mlflow_sink.h"
#include "sink/sinks.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* A batch is at most some thousand points. */
enum { BATCH_BYTES = 64 * 1024 };

struct mlflow {
    struct mlflow_desk desk; /* of the courier, once there is one */
    struct mlflow_facts facts;
    bool has_begun;
    char node[MLFLOW_ID_BYTES];
    struct buf variables[2]; /* for the command */
    const char *environment[3];
};

/* ---- Opening --------------------------------------------------------------------------------- */

static void make_id(char ret[33])
{
    unsigned char bytes[16];
    uint64_t seed[2] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)&bytes};
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != sizeof bytes)
        memcpy(bytes, seed, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static int mlflow_open(struct sink *s, struct toll_error *e)
{
    struct mlflow *m = s->state = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, -ENOMEM, "no memory for an output");
    struct mlflow_desk *d = &m->desk;
    const struct sink_settings *o = &s->settings;
    d->client.sink = s;
    d->spool.fd = -1;
    s->plan.batch_bytes = BATCH_BYTES;
    make_id(d->client.id);
    int r = mlflow_setup_server(s, &d->client.http, e);
    if (r == 0)
        r = mlflow_setup_run(s, &d->client, true, e);
    if (r < 0)
        return r;
    mlflow_setup_node(s, d->client.is_joined, m->node);
    r = mlflow_frames_init(&d->frames, s, sink_options_u64(o, "parts"),
                           sink_options_text(o, "prefix"), m->node, e);
    if (r == 0)
        r = mlflow_spool_init(&d->spool, sink_options_text(o, "spool"), d->client.id, e);
    d->client.has_spool = d->spool.path;
    d->spool.most_bytes = sink_options_u64(o, "spool_size");
    if (r == 0 && !(d->client.base = strdup(s->place)))
        r = -ENOMEM;
    m->facts = (struct mlflow_facts){
        .node = d->frames.node,
        .id = d->client.id,
        .run_name = sink_options_text(o, "run"),
        .with_command = sink_options_u64(o, "command"),
        .with_artifact = sink_options_u64(o, "artifact"),
        .ends_run = !d->client.is_joined,
    };
    return r == -ENOMEM ? err_set(e, r, "no memory for an output") : r;
}

static void mlflow_close(struct sink *s)
{
    struct mlflow *m = s->state;
    if (!m)
        return;
    struct mlflow_client *c = &m->desk.client;
    if (m->facts.ends_run && *c->run.run_id && !m->has_begun) {
        struct buf ops = {0}; /* it was made for a command that could not be started */
        mlflow_facts_nothing_ran(&ops);
        if (!buf_failed(&ops))
            mlflow_early_do(c, sink_options_u64(&s->settings, "wait"), &ops);
        buf_done(&ops);
    }
    mlflow_desk_done(&m->desk);
    buf_done(&m->variables[0]);
    buf_done(&m->variables[1]);
    free(m);
    s->state = NULL;
}

/* ---- The run --------------------------------------------------------------------------------- */

static void describe_run(struct sink *s, struct mlflow *m)
{
    struct mlflow_client *c = &m->desk.client;
    struct buf body = {0};
    if (c->create || !m->facts.ends_run)
        return;
    mlflow_facts_create(&body, &m->facts, s->run);
    if (buf_failed(&body))
        buf_done(&body);
    else
        c->create = body.data;
}

/* The program finds the run only at the same server. A password in the URL is not handed on. */
static void tell_command(struct sink *s, struct mlflow *m)
{
    const char **to = m->environment;
    struct buf *run = &m->variables[0], *server = &m->variables[1];
    buf_clear(run);
    buf_clear(server);
    buf_printf(run, "MLFLOW_RUN_ID=%s", m->desk.client.run.run_id);
    buf_puts(server, "MLFLOW_TRACKING_URI=");
    url_show(server, s->place);
    bool has_both = !buf_failed(run) && !buf_failed(server);
    if (has_both)
        *to++ = run->data;
    if (has_both && !mlflow_setup_is_known(s))
        *to++ = server->data;
    *to = NULL;
}

static const char *const *mlflow_environment(struct sink *s)
{
    struct mlflow *m = s->state;
    struct attempt a = {0};
    if (!sink_options_u64(&s->settings, "export"))
        return NULL;
    describe_run(s, m);
    if (!*m->desk.client.run.run_id && m->desk.client.create &&
        mlflow_early_create(&m->desk.client, sink_options_u64(&s->settings, "wait"), &a) < 0) {
        char sentence[sizeof a.why + 64];
        snprintf(sentence, sizeof sentence, "%s; the command is not told MLFLOW_RUN_ID", a.why);
        courier_tell(s->courier, sentence);
        return NULL;
    }
    tell_command(s, m);
    return m->environment;
}

/* ---- What is said ---------------------------------------------------------------------------- */

static void mlflow_begin(struct sink *s, const struct run *run)
{
    struct mlflow *m = s->state;
    m->has_begun = true;
    describe_run(s, m);
    mlflow_facts_begin(&s->text, &m->facts, run);
}

static void mlflow_frame(struct sink *s, const struct frame *f)
{
    struct mlflow *m = s->state;
    mlflow_frames_put(&m->desk.frames, s, f);
}

static void mlflow_mark(struct sink *s, const struct told_mark *mark)
{
    struct mlflow *m = s->state;
    if (mark->kind == MARK_GAUGE)
        mlflow_frames_put_gauge(&m->desk.frames, s, mark);
}

static void mlflow_summary(struct sink *s, const struct summary *summary)
{
    struct mlflow *m = s->state;
    mlflow_facts_end(&s->text, &m->facts, summary, &s->selection);
}

static enum delivery mlflow_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct mlflow *m = s->state;
    return mlflow_desk_deliver(&m->desk, b, a);
}

static enum delivery mlflow_leave(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct mlflow *m = s->state;
    return mlflow_desk_leave(&m->desk, b, a);
}

struct mlflow_desk *mlflow_sink_desk(struct sink *s)
{
    struct mlflow *m = s->state;
    m->has_begun = true; /* it is not for us to end the run */
    return &m->desk;
}

static const struct sink_option options[] = {
    {{"experiment", "TEXT", "",
      "name of the experiment, made when it is not there; or "
      "MLFLOW_EXPERIMENT_NAME, _ID"},
     OPTION_TEXT,
     false},
    {{"run", "TEXT", "", "name of the run; otherwise that of toll's run"}, OPTION_TEXT, false},
    {{"run_id", "TEXT", "", "log into this run, and never end it; or MLFLOW_RUN_ID"},
     OPTION_TEXT,
     false},
    {{"wait", "TIME", "2s", "how long the command may wait for its run to be made"},
     OPTION_DURATION,
     false},
    {{"export", "no|yes", "yes", "tell the command MLFLOW_RUN_ID"}, OPTION_WORD, false},
    {{"prefix", "TEXT", "system/", "what stands in front of each metric's name"},
     OPTION_TEXT,
     false},
    {{"node", "TEXT", "", "part of the names, of one of several in a run; or the rank"},
     OPTION_TEXT,
     false},
    {{"parts", "combined|all", "combined",
      "all: the main process and the others apart too, the cgroup, and toll itself"},
     OPTION_WORD,
     false},
    {{"command", "no|yes", "no", "log the whole command line, which may have secrets in it"},
     OPTION_WORD,
     false},
    {{"artifact", "no|yes", "yes", "the summary as a file of the run, toll/summary.json"},
     OPTION_WORD,
     false},
    {{"spool", "FILE", "",
      "where to keep what cannot be sent, or 'none'; otherwise a file below "
      "~/.local/state/toll"},
     OPTION_TEXT,
     false},
    {{"spool_size", "SIZE", "1GiB", "how large it may become; then samples are lost, and counted"},
     OPTION_SIZE,
     false},
    SINK_COURIER_OPTIONS("5s"),
    SINK_HTTP_OPTIONS,
    {.facts = {0}},
};

const struct sink_kind sink_mlflow = {
    .format = {"mlflow", "", "MLflow tracking server: samples and the summary as metrics of a run",
               "[URL]"},
    .options = options,
    .has_dialects = true,
    .open = mlflow_open,
    .environment = mlflow_environment,
    .begin = mlflow_begin,
    .frame = mlflow_frame,
    .mark = mlflow_mark,
    .summary = mlflow_summary,
    .deliver = mlflow_deliver,
    .leave = mlflow_leave,
    .close = mlflow_close,
};
