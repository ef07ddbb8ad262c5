/* SPDX-License-Identifier: MIT
 * An MLflow tracking server: samples as metrics of a run, the summary at its end. The run is made
 * before the command starts, which gets its ID in a variable, or one is joined. */
#include "sink/mlflow/mlflow.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/http.h"
#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* ==== Requests before there is a sender ======================================================= */

/* What the helper process found; smaller than what a pipe takes at once. */
struct mlflow_finding {
    enum delivery delivery;
    struct mlflow_run run;
    char why[256];
};

struct early_helper {
    struct mlflow_client *client;
    const struct buf *ops; /* NULL: the run is prepared */
    int pipe;
};

/* In the helper, which allocates, looks up names and uses TLS. */
static int mlflow_early_help(void *arg)
{
    const struct early_helper *h = arg;
    struct mlflow_finding f = {.delivery = DELIVERY_DONE};
    struct attempt a = {0};
    struct spool_op op;
    struct scan text = scan_text(h->ops ? h->ops->data : "", h->ops ? h->ops->length : 0);
    if (h->ops)
        while (spool_op_next(&text, &op) > 0)
            mlflow_client_do(h->client, &op, &a);
    else
        f.delivery = mlflow_client_prepare(h->client, &a);
    f.run = h->client->run;
    memcpy(f.why, a.why, sizeof f.why);
    return write(h->pipe, &f, sizeof f) == sizeof f ? 0 : 1;
}

static bool mlflow_early_ask(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops,
                             struct mlflow_finding *ret)
{
    int ends[2];
    uint64_t now, until_ns = sum_u64(clock_mono(NULL), timeout_ns);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    c->timeout_ns = timeout_ns;
    struct early_helper h = {c, ops, ends[1]};
    pid_t helper = quiet_fork_child("toll-mlflow", mlflow_early_help, &h);
    c->timeout_ns = 0;
    close(ends[1]);
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    int n = helper > 0 ? 0 : -1;
    while ((n == 0 || (n < 0 && errno == EINTR)) && helper > 0 &&
           (now = clock_mono(NULL)) < until_ns)
        n = poll(&fd, 1, (int)((until_ns - now) / NS_PER_MS) + 1);
    bool has_answer = n > 0 && read(ends[0], ret, sizeof *ret) == sizeof *ret;
    close(ends[0]);
    if (helper > 0)
        quiet_fork_end(helper, 0);
    return has_answer;
}

/* Makes the run before there is a sender, by a helper process: whatever the network or the server
 * do, it takes no longer than timeout_ns. 0; -ETIMEDOUT, -EIO and the reason in *a. client->run is
 * updated either way. */
static int mlflow_early_create(struct mlflow_client *c, uint64_t timeout_ns, struct attempt *a)
{
    struct mlflow_finding f;
    if (!timeout_ns) {
        snprintf(a->why, sizeof a->why, "run not created yet (wait=0s)");
        return -ETIMEDOUT;
    }
    if (!mlflow_early_ask(c, timeout_ns, NULL, &f)) {
        c->run.may_exist = true;
        snprintf(a->why, sizeof a->why, "no response in time");
        return -ETIMEDOUT;
    }
    c->run = f.run;
    memcpy(a->why, f.why, sizeof a->why);
    return f.delivery == DELIVERY_DONE ? 0 : -EIO;
}

/* ==== Sink ==================================================================================== */

/* The prefix of MLflow's own monitor. */
#define MLFLOW_SYSTEM_PREFIX "system/"

/* A batch is at most some thousand points. */
enum { BATCH_BYTES = 64 * 1024 };

/* Attempts to look up what a run has. */
enum { LOOKS = 3 };

/* ---- Opening --------------------------------------------------------------------------------- */

/* A program that logs MLflow's own system metrics into the run uses the names of our table. Two
 * series must not share a key: ours go to system/toll/… then. A run that is joined is looked up. */
static void mlflow_choose_keys(struct sink *s, struct mlflow *m)
{
    enum { AUTO, NO, YES };
    uint64_t monitor = sink_options_u64(&s->settings, "monitor");
    bool has_names = m->frames.prefix && m->frames.node &&
                     strcmp(m->frames.prefix, MLFLOW_SYSTEM_PREFIX) == 0 &&
                     mlflow_frames_key_of_monitor(&m->frames);
    bool is_known = monitor == AUTO && mlflow_setup_has_monitor();
    if (!has_names || monitor == NO)
        return;
    m->frames.is_doubled = monitor == YES || is_known;
    m->looks_left = monitor == AUTO && !is_known && m->client.is_joined ? LOOKS : 0;
    if (is_known)
        snprintf(s->notice, sizeof s->notice,
                 "toll's system metrics go to system/toll/, since the program logs its own "
                 "(MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING)");
}

static int mlflow_open(struct sink *s, struct toll_error *e)
{
    struct mlflow *m = s->state = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    struct mlflow_client *c = &m->client;
    const struct sink_settings *o = &s->settings;
    c->sink = s;
    c->has_spool = s->spool->file.path;
    memcpy(c->id, s->spool->id, sizeof c->id);
    s->plan.batch_bytes = BATCH_BYTES;
    int r = mlflow_setup_server(s, &c->http, e);
    if (r == 0)
        r = mlflow_setup_run(s, c, true, e);
    if (r < 0)
        return r;
    mlflow_setup_node(s, c->is_joined, m->node);
    r = mlflow_frames_init(&m->frames, s, sink_options_u64(o, "parts"),
                           sink_options_text(o, "prefix"), m->node, sink_options_u64(o, "interval"),
                           e);
    mlflow_choose_keys(s, m);
    if (r == 0 && !(c->base = strdup(s->place)))
        r = -ENOMEM;
    m->facts = (struct mlflow_facts){
        .node = m->frames.node,
        .id = c->id,
        .run_name = sink_options_text(o, "run"),
        .parent = sink_options_text(o, "parent"),
        .with_params = sink_options_u64(o, "params") &&
                       (!c->is_joined || sink_options_has(o, "params")),
        .with_command = sink_options_u64(o, "command"),
        .with_artifact = sink_options_u64(o, "artifact"),
        .ends_run = !c->is_joined,
    };
    return r == -ENOMEM ? err_set(e, r, "cannot open the output: out of memory") : r;
}

static void mlflow_close(struct sink *s)
{
    struct mlflow *m = s->state;
    if (!m)
        return;
    struct mlflow_client *c = &m->client;
    if (m->facts.ends_run && *c->run.run_id && !m->has_begun) {
        struct buf ops = {0}; /* it was made for a command that could not be started */
        struct mlflow_finding ignored;
        uint64_t wait_ns = sink_options_u64(&s->settings, "wait");
        mlflow_facts_nothing_ran(&ops);
        if (!buf_failed(&ops) && wait_ns)
            mlflow_early_ask(c, wait_ns, &ops, &ignored);
        buf_done(&ops);
    }
    mlflow_client_done(c);
    mlflow_frames_done(&m->frames);
    buf_done(&m->variables[0]);
    buf_done(&m->variables[1]);
    free(m);
    s->state = NULL;
}

/* ---- The run --------------------------------------------------------------------------------- */

static void mlflow_describe_run(struct sink *s, struct mlflow *m)
{
    struct mlflow_client *c = &m->client;
    struct buf body = {0};
    if (c->create || !m->facts.ends_run)
        return;
    mlflow_facts_create(&body, &m->facts, s->run);
    if (buf_failed(&body))
        buf_done(&body);
    else
        c->create = body.data;
}

/* Variables for the command. It finds the run only at the same server; a password in the URL is not
 * passed on. */
static const char *const *mlflow_environment(struct sink *s)
{
    struct mlflow *m = s->state;
    struct mlflow_client *c = &m->client;
    struct attempt a = {0};
    if (!sink_options_u64(&s->settings, "export"))
        return NULL;
    mlflow_describe_run(s, m);
    if (!*c->run.run_id && c->create &&
        mlflow_early_create(c, sink_options_u64(&s->settings, "wait"), &a) < 0) {
        char sentence[sizeof a.why + 64];
        snprintf(sentence, sizeof sentence, "%s; MLFLOW_RUN_ID is not set for the command", a.why);
        sender_report(s->sender, sentence);
        return NULL;
    }
    const char **to = m->environment;
    struct buf *run = &m->variables[0], *server = &m->variables[1];
    buf_clear(run);
    buf_clear(server);
    buf_printf(run, "MLFLOW_RUN_ID=%s", c->run.run_id);
    buf_puts(server, "MLFLOW_TRACKING_URI=");
    url_show(server, s->place);
    bool has_both = !buf_failed(run) && !buf_failed(server);
    if (has_both)
        *to++ = run->data;
    if (has_both && !mlflow_setup_is_known(s))
        *to++ = server->data;
    *to = NULL;
    return m->environment;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void mlflow_begin(struct sink *s, const struct run *run)
{
    struct mlflow *m = s->state;
    m->has_begun = true;
    mlflow_describe_run(s, m);
    mlflow_facts_begin(&s->text, &m->facts, run);
}

static void mlflow_frame(struct sink *s, const struct frame *f)
{
    struct mlflow *m = s->state;
    mlflow_frames_put(&m->frames, s, f);
}

static void mlflow_mark(struct sink *s, const struct run_mark *mark)
{
    struct mlflow *m = s->state;
    if (mark->kind == MARK_GAUGE)
        mlflow_frames_put_gauge(&m->frames, s, mark);
    else if (mark->phase)
        mlflow_frames_put_phase(&m->frames, s, mark);
}

static void mlflow_summary(struct sink *s, const struct summary *summary)
{
    struct mlflow *m = s->state;
    struct buf rest = {0};
    struct chunk p = {.kind = CHUNK_FRAME, .weight = mlflow_frames_rest(&m->frames, &rest)};
    p.data = rest.data;
    p.length = rest.length;
    if (p.weight && !buf_failed(&rest) && s->sender)
        sender_put(s->sender, &p);
    buf_done(&rest);
    mlflow_facts_end(&s->text, &m->facts, summary, &s->selection);
}

/* ---- In the sender's thread ------------------------------------------------------------------ */

/* In a run that is joined, looks for MLflow's own system metrics first. Those of an earlier toll,
 * which has left a tag, do not count. */
static bool mlflow_encode(struct sink *s, const struct batch *b, struct buf *ops)
{
    struct mlflow *m = s->state;
    if (m->looks_left && s->sender && !sender_is_over(s->sender)) {
        char tag[MLFLOW_ID_BYTES + 16];
        const char *key = mlflow_frames_key_of_monitor(&m->frames);
        snprintf(tag, sizeof tag, "toll.%sversion", m->frames.node);
        int found = key ? mlflow_client_run_has(&m->client, key, tag) : 0;
        m->looks_left = found < 0 ? m->looks_left - 1 : 0;
        if (found > 0) {
            m->frames.is_doubled = true;
            sender_report(s->sender, "the run already has MLflow's system metrics; toll's go to "
                                     "system/toll/ (monitor=no: to the same keys)");
        }
    }
    mlflow_frames_encode(&m->frames, b, ops);
    return !buf_failed(ops);
}

/* The server keeps one copy of a point that comes twice: *done is not needed. */
static enum delivery mlflow_send(struct sink *s, const struct spool_op *op, uint64_t *done,
                                 struct attempt *a)
{
    struct mlflow *m = s->state;
    return mlflow_client_do(&m->client, op, a);
}

static void mlflow_add_spool_head(struct sink *s, struct buf *head)
{
    struct mlflow *m = s->state;
    const struct mlflow_client *c = &m->client;
    const char *name = c->experiment ? c->experiment : "";
    if (*c->run.experiment_id || c->experiment)
        spool_op_add(head, SPOOL_EXPERIMENT, c->run.experiment_id, name, strlen(name));
    if (c->create)
        spool_op_add(head, SPOOL_CREATE, "", c->create, strlen(c->create));
    m->run_in_spool = *c->run.run_id;
    if (m->run_in_spool)
        spool_op_add(head, SPOOL_RUN, c->run.run_id, "", 0);
}

/* Writes the ID of the run to the spool, once it is known. */
static void mlflow_after_spool(struct sink *s)
{
    struct mlflow *m = s->state;
    struct buf op = {0};
    if (m->run_in_spool || s->spool->file.fd < 0 || !*m->client.run.run_id)
        return;
    spool_op_add(&op, SPOOL_RUN, m->client.run.run_id, "", 0);
    m->run_in_spool = !buf_failed(&op) &&
                      spool_file_add(&s->spool->file, op.data, op.length, true) == 0;
    buf_done(&op);
}

/* ---- toll resend ---------------------------------------------------------------------------- */

/* The run of a spool file. */
struct mlflow_spool_run {
    char *id, *experiment, *create; /* owned; NULL: unknown */
    char experiment_id[MLFLOW_ID_BYTES];
    char run_id[MLFLOW_ID_BYTES];
};

static void mlflow_copy_id(char to[MLFLOW_ID_BYTES], struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    char *id = length ? strndup(text.at, length) : NULL;
    if (id && mlflow_client_is_id(id))
        snprintf(to, MLFLOW_ID_BYTES, "%s", id);
    free(id);
}

static int mlflow_read_spool_op(void *arg, const struct spool_op *op)
{
    struct mlflow_spool_run *r = arg;
    char **text = op->kind == SPOOL_HEAD         ? &r->id
                  : op->kind == SPOOL_EXPERIMENT ? &r->experiment
                  : op->kind == SPOOL_CREATE     ? &r->create
                                                 : NULL;
    if (text) {
        size_t length = (size_t)(op->body.end - op->body.at);
        free(*text);
        *text = length ? strndup(op->body.at, length) : NULL;
    }
    if (op->kind == SPOOL_EXPERIMENT)
        mlflow_copy_id(r->experiment_id, op->name);
    if (op->kind == SPOOL_RUN)
        mlflow_copy_id(r->run_id, op->name);
    return 0;
}

/* The run of the file, or a new one like it elsewhere; or one that is named now, which is not
 * ended. MLFLOW_RUN_ID is the run of the current job, not of the file. */
static int mlflow_set_run(struct sink *s, struct mlflow_client *client,
                          struct mlflow_spool_run *run, bool is_elsewhere, struct toll_error *e)
{
    if (sink_options_has(&s->settings, "run_id"))
        return 0;
    int r = mlflow_setup_run(s, client, false, e);
    if (r < 0)
        return r;
    if (run->id && strlen(run->id) < sizeof client->id && mlflow_client_is_id(run->id))
        snprintf(client->id, sizeof client->id, "%s", run->id);
    if (!is_elsewhere || !run->create) {
        client->run = (struct mlflow_run){0};
        memcpy(client->run.run_id, run->run_id, sizeof run->run_id);
        memcpy(client->run.experiment_id, run->experiment_id, sizeof run->experiment_id);
        free(client->experiment);
        client->experiment = run->experiment;
        run->experiment = NULL;
    }
    client->run.may_exist = true; /* an earlier attempt may have made it */
    client->create = run->create;
    run->create = NULL;
    return 0;
}

static int mlflow_take_spool(struct sink *s, const struct spool_file *file, bool is_elsewhere,
                             struct toll_error *e)
{
    struct mlflow *m = s->state;
    struct mlflow_spool_run run = {0};
    uint64_t at = 0;
    m->has_begun = true; /* it is not ended when the sink is closed */
    spool_file_each(file, &at, mlflow_read_spool_op, &run);
    int r = mlflow_set_run(s, &m->client, &run, is_elsewhere, e);
    m->client.has_spool = true;
    m->run_in_spool = is_elsewhere || *run.run_id;
    if (r == 0 && !*m->client.run.run_id && !m->client.create)
        r = err_set(e, -EINVAL, "cannot resend '%s': no run in it", file->path);
    free(run.id);
    free(run.experiment);
    free(run.create);
    return r;
}

static void mlflow_name_run(struct sink *s, char *ret, size_t capacity)
{
    struct mlflow *m = s->state;
    snprintf(ret, capacity, "%s", m->client.run.run_id);
}

static const struct sink_option options[] = {
    SINK_OPTION("experiment", "TEXT", "",
                "name of the experiment, created when missing; or MLFLOW_EXPERIMENT_NAME, _ID",
                OPTION_TEXT),
    SINK_OPTION("run", "TEXT", "", "name of the run; otherwise the name of toll's run",
                OPTION_TEXT),
    SINK_OPTION("run_id", "TEXT", "", "log into this run and never end it; or MLFLOW_RUN_ID",
                OPTION_TEXT),
    SINK_OPTION("wait", "TIME", "2s", "longest delay of the command until its run is created",
                OPTION_DURATION),
    SINK_OPTION("export", "no|yes", "yes", "set MLFLOW_RUN_ID for the command", OPTION_WORD),
    SINK_OPTION(
        "parent", "TEXT", "",
        "ID of the parent run; toll's run is nested below it, even when MLFLOW_RUN_ID is set",
        OPTION_TEXT),
    SINK_OPTION("interval", "TIME", "10s",
                "time per point of each metric, made from the samples in it; 0s: every sample",
                OPTION_DURATION),
    SINK_OPTION("prefix", "TEXT", MLFLOW_SYSTEM_PREFIX, "prefix of each metric's name",
                OPTION_TEXT),
    SINK_OPTION("monitor", "auto|no|yes", "auto",
                "yes: the program logs MLflow's system metrics itself, toll's go to system/toll/",
                OPTION_WORD),
    SINK_OPTION("params", "no|yes", "yes",
                "log program, host and method as parameters; in a joined run only when given",
                OPTION_WORD),
    SINK_OPTION("node", "TEXT", "",
                "node in the names, for several nodes in one run; otherwise the rank", OPTION_TEXT),
    SINK_OPTION("parts", "combined|all", "combined",
                "all: also the main process, its descendants, the cgroup and toll itself",
                OPTION_WORD),
    SINK_OPTION("command", "no|yes", "no", "log the whole command line, which may contain secrets",
                OPTION_WORD),
    SINK_OPTION("artifact", "no|yes", "yes", "upload the summary as toll/summary.json",
                OPTION_WORD),
    SINK_SPOOL_OPTIONS,
    SINK_SENDER_OPTIONS("5s", "5s"),
    SINK_HTTP_OPTIONS,
    {.facts = {0}},
};

const struct sink_kind sink_mlflow = {
    .format = {"mlflow", "", "MLflow tracking server: samples and the summary as metrics of a run",
               "[URL]"},
    .options = options,
    .has_layouts = true,
    .open = mlflow_open,
    .environment = mlflow_environment,
    .begin = mlflow_begin,
    .frame = mlflow_frame,
    .mark = mlflow_mark,
    .summary = mlflow_summary,
    .encode = mlflow_encode,
    .send = mlflow_send,
    .add_spool_head = mlflow_add_spool_head,
    .after_spool = mlflow_after_spool,
    .take_spool = mlflow_take_spool,
    .name_run = mlflow_name_run,
    .close = mlflow_close,
};
