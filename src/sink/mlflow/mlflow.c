/* SPDX-License-Identifier: MIT
 * An MLflow tracking server: samples as metrics of a run, the summary at its end. The run is made
 * before the command starts, which is told of it, or is one that is there already. */
#include "sink/mlflow/mlflow.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/url.h"
#include "base/process.h"
#include "sink/mlflow/facts.h"
#include "sink/mlflow/setup.h"
#include "sink/sink.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ==== Mlflow early ============================================================================ */

/* What the helper found out; smaller than what a pipe takes at once. */
struct finding {
    enum delivery delivery;
    struct mlflow_run run;
    char why[256];
};

static _Noreturn void mlflow_early_help(struct mlflow_client *c, const struct buf *ops, int pipe)
{
    struct finding f = {.delivery = DELIVERY_DONE};
    struct attempt a = {0};
    struct spool_op op;
    struct scan text = scan_text(ops ? ops->data : "", ops ? ops->length : 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ops)
        while (spool_ops_next(&text, &op) > 0)
            mlflow_client_do(c, &op, &a);
    else
        f.delivery = mlflow_client_prepare(c, &a);
    f.run = c->run;
    memcpy(f.why, a.why, sizeof f.why);
    ssize_t n = write(pipe, &f, sizeof f);
    _exit(n == sizeof f ? 0 : 1);
}

/* Until the helper has told what it found, or the time is over. */
static bool listen_to(int pipe, uint64_t until_ns, struct finding *ret)
{
    struct pollfd fd = {.fd = pipe, .events = POLLIN};
    for (uint64_t now; (now = clock_mono(NULL)) < until_ns;) {
        int n = poll(&fd, 1, (int)((until_ns - now) / NS_PER_MS) + 1);
        if (n > 0)
            return read(pipe, ret, sizeof *ret) == sizeof *ret;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* Whether nobody but us can hold a lock. */
static bool is_alone(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3; /* ., .. and one thread */
}

/* The helper allocates, looks up names and speaks TLS: where other threads may be in the middle of
 * that, the C library has to know of the fork, and the program may notice the helper's end. Signals
 * are for us, who have handlers for them. */
static pid_t mlflow_early_start_helper(struct mlflow_client *c, const struct buf *ops, int pipe)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t helper = is_alone() ? quiet_fork() : fork();
    if (helper == 0)
        mlflow_early_help(c, ops, pipe);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return helper;
}

static bool mlflow_early_ask(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops,
                             struct finding *ret)
{
    int ends[2];
    uint64_t until_ns = sum_u64(clock_mono(NULL), timeout_ns);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    c->timeout_ns = timeout_ns;
    pid_t helper = mlflow_early_start_helper(c, ops, ends[1]);
    c->timeout_ns = 0;
    close(ends[1]);
    bool has_told = helper > 0 && listen_to(ends[0], until_ns, ret);
    close(ends[0]);
    if (helper > 0)
        quiet_fork_end(helper);
    return has_told;
}

int mlflow_early_create(struct mlflow_client *c, uint64_t timeout_ns, struct attempt *a)
{
    struct finding f;
    if (!timeout_ns) {
        snprintf(a->why, sizeof a->why, "nobody waited for it");
        return -ETIMEDOUT;
    }
    if (!mlflow_early_ask(c, timeout_ns, NULL, &f)) {
        c->run.may_exist = true;
        snprintf(a->why, sizeof a->why, "it did not answer in time");
        return -ETIMEDOUT;
    }
    c->run = f.run;
    memcpy(a->why, f.why, sizeof a->why);
    return f.delivery == DELIVERY_DONE ? 0 : -EIO;
}

void mlflow_early_do(struct mlflow_client *c, uint64_t timeout_ns, const struct buf *ops)
{
    struct finding f;
    if (timeout_ns)
        mlflow_early_ask(c, timeout_ns, ops, &f);
}

/* ==== Mlflow desk ============================================================================= */

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

/* ==== Mlflow ================================================================================== */

/* Of MLflow's own monitor. */
#define MLFLOW_SYSTEM_PREFIX "system/"

/* A batch is at most some thousand points. */
enum { BATCH_BYTES = 64 * 1024 };

/* So often the server is asked what the run has, when it does not answer. */
enum { LOOKS = 3 };

struct mlflow {
    struct mlflow_desk desk; /* of the sender, once there is one */
    struct mlflow_facts facts;
    bool has_begun;
    unsigned looks_left; /* at a run that is joined, for MLflow's own system metrics in it */
    char node[MLFLOW_ID_BYTES];
    struct buf variables[2]; /* for the command */
    const char *environment[3];
};

/* ---- Opening --------------------------------------------------------------------------------- */

/* A program that logs MLflow's own system metrics into the run has the names that our table has:
 * two series in one key are none. Ours go to system/toll/… then. What is not known yet is looked up
 * in a run that is joined. */
static void choose_place_of_names(struct sink *s, struct mlflow *m)
{
    enum { AUTO, NO, YES };
    struct mlflow_desk *d = &m->desk;
    uint64_t monitor = sink_options_u64(&s->settings, "monitor");
    bool has_names = d->frames.prefix && d->frames.node &&
                     strcmp(d->frames.prefix, MLFLOW_SYSTEM_PREFIX) == 0 &&
                     mlflow_frames_key_of_monitor(&d->frames);
    bool is_known = monitor == AUTO && mlflow_setup_has_monitor();
    if (!has_names || monitor == NO)
        return;
    d->frames.is_doubled = monitor == YES || is_known;
    m->looks_left = monitor == AUTO && !is_known && d->client.is_joined ? LOOKS : 0;
    if (is_known)
        snprintf(s->notice, sizeof s->notice,
                 "keys of MLflow's own system metrics are below system/toll/: "
                 "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING makes the program log them, too");
}

static int mlflow_open(struct sink *s, struct toll_error *e)
{
    struct mlflow *m = s->state = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, -ENOMEM, "no memory for an output");
    struct mlflow_desk *d = &m->desk;
    const struct sink_settings *o = &s->settings;
    d->client.sink = s;
    d->spooler.spool.fd = -1;
    s->plan.batch_bytes = BATCH_BYTES;
    int r = mlflow_setup_server(s, &d->client.http, e);
    if (r == 0)
        r = mlflow_setup_run(s, &d->client, true, e);
    if (r < 0)
        return r;
    mlflow_setup_node(s, d->client.is_joined, m->node);
    r = mlflow_frames_init(&d->frames, s, sink_options_u64(o, "parts"),
                           sink_options_text(o, "prefix"), m->node, sink_options_u64(o, "interval"),
                           e);
    choose_place_of_names(s, m);
    if (r == 0)
        r = mlflow_desk_init(d, s, e);
    if (r == 0 && !(d->client.base = strdup(s->place)))
        r = -ENOMEM;
    m->facts = (struct mlflow_facts){
        .node = d->frames.node,
        .id = d->client.id,
        .run_name = sink_options_text(o, "run"),
        .parent = sink_options_text(o, "parent"),
        .with_params = sink_options_u64(o, "params") &&
                       (!d->client.is_joined || sink_options_has(o, "params")),
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
        sender_tell(s->sender, sentence);
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
    else if (mark->phase)
        mlflow_frames_put_phase(&m->desk.frames, s, mark);
}

static void mlflow_summary(struct sink *s, const struct summary *summary)
{
    struct mlflow *m = s->state;
    struct buf rest = {0};
    struct chunk p = {.of = CHUNK_FRAME, .samples = mlflow_frames_rest(&m->desk.frames, &rest)};
    p.data = rest.data;
    p.length = rest.length;
    if (p.samples && !buf_failed(&rest) && s->sender)
        sender_put(s->sender, &p);
    buf_done(&rest);
    mlflow_facts_end(&s->text, &m->facts, summary, &s->selection);
}

/* What an earlier toll has logged into the run is no reason: it has left a tag. */
static void look_for_monitor(struct sink *s, struct mlflow *m)
{
    char tag[MLFLOW_ID_BYTES + 16];
    const char *key = mlflow_frames_key_of_monitor(&m->desk.frames);
    snprintf(tag, sizeof tag, "toll.%sversion", m->desk.frames.node);
    int found = key ? mlflow_client_run_has(&m->desk.client, key, tag) : 0;
    m->looks_left = found < 0 ? m->looks_left - 1 : 0;
    if (found <= 0)
        return;
    m->desk.frames.is_doubled = true;
    sender_tell(s->sender, "the run has MLflow's system metrics already: toll's figures by these "
                           "names are below system/toll/ (monitor=no: in the same keys)");
}

static enum delivery mlflow_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct mlflow *m = s->state;
    if (m->looks_left && !b->attempt)
        look_for_monitor(s, m);
    return spooler_deliver(&m->desk.spooler, b, a);
}

static enum delivery mlflow_leave(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct mlflow *m = s->state;
    return spooler_leave(&m->desk.spooler, b, a);
}

struct mlflow_desk *mlflow_sink_desk(struct sink *s)
{
    struct mlflow *m = s->state;
    m->has_begun = true; /* it is not for us to end the run */
    return &m->desk;
}

/* ---- A spool that is sent later -------------------------------------------------------------- */

/* What a spool says of its run. */
struct spool_run {
    char *id, *experiment, *create; /* owned; NULL: nothing */
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

static int read_spool_run(void *arg, const struct spool_op *op)
{
    struct spool_run *r = arg;
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

/* The one it was for, or one like it elsewhere; or one that is named now, which is not ended. The
 * run of MLFLOW_RUN_ID is that of the job we are in, not of what is sent. */
static int mlflow_set_run(struct sink *s, struct mlflow_client *client, struct spool_run *run,
                          bool is_elsewhere, struct toll_error *e)
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
    client->run.may_exist = true; /* an attempt before this one may have made it */
    client->create = run->create;
    run->create = NULL;
    return 0;
}

static int mlflow_take_spool(struct sink *s, const struct spool *spool, bool is_elsewhere,
                             struct toll_error *e)
{
    struct mlflow_desk *d = mlflow_sink_desk(s);
    struct spool_run run = {0};
    uint64_t at = 0;
    spool_each(spool, &at, read_spool_run, &run);
    int r = mlflow_set_run(s, &d->client, &run, is_elsewhere, e);
    d->client.has_spool = true;
    d->run_is_told = is_elsewhere || *run.run_id;
    if (r == 0 && !*d->client.run.run_id && !d->client.create)
        r = err_set(e, -EINVAL, "'%s' does not say which run it is for", spool->path);
    free(run.id);
    free(run.experiment);
    free(run.create);
    return r;
}

static struct spooler *mlflow_spooler(struct sink *s)
{
    return &mlflow_sink_desk(s)->spooler;
}

static void mlflow_name_run(struct sink *s, char *ret, size_t capacity)
{
    snprintf(ret, capacity, "%s", mlflow_sink_desk(s)->client.run.run_id);
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
    {{"parent", "TEXT", "",
      "ID of a run: the one that toll makes is nested below it, also where MLFLOW_RUN_ID is set"},
     OPTION_TEXT,
     false},
    {{"interval", "TIME", "10s",
      "one point of each metric in this time, of the samples in it; 0s: every sample"},
     OPTION_DURATION,
     false},
    {{"prefix", "TEXT", MLFLOW_SYSTEM_PREFIX, "what stands in front of each metric's name"},
     OPTION_TEXT,
     false},
    {{"monitor", "auto|no|yes", "auto",
      "yes: the program logs MLflow's system metrics itself; toll's by these names go to "
      "system/toll/"},
     OPTION_WORD,
     false},
    {{"params", "no|yes", "yes",
      "program, host and how it is measured as parameters; in a run that is joined only when "
      "given"},
     OPTION_WORD,
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
    SINK_SPOOL_OPTIONS,
    SINK_SENDER_OPTIONS("5s"),
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
    .deliver = mlflow_deliver,
    .leave = mlflow_leave,
    .spooler = mlflow_spooler,
    .take_spool = mlflow_take_spool,
    .name_run = mlflow_name_run,
    .close = mlflow_close,
};
