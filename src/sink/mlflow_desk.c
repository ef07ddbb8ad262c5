/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_desk.h"

#include "base/clock.h"
#include "base/url.h"

#include <stdio.h>
#include <string.h>

#define FIRST_WAIT_NS   (NS_PER_SECOND)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)

/* So often a batch is tried before it is put aside, which takes some two seconds. */
enum { PATIENCE = 4 };

/* ---- Sending --------------------------------------------------------------------------------- */

/* What is refused for good is passed over. */
static enum delivery pass_over(const struct mlflow_op *op, enum delivery d, bool *ret_refused,
                               struct attempt *a)
{
    if (d != DELIVERY_REFUSED)
        return d;
    if (op->kind == MLFLOW_BATCH)
        *ret_refused = true;
    else
        a->is_partly = true;
    return DELIVERY_DONE;
}

static enum delivery send_batch(struct mlflow_desk *d, struct attempt *a)
{
    struct scan text = scan_text(d->ops.data + d->at, d->ops.length - d->at);
    struct mlflow_op op;
    int r;
    while ((r = mlflow_ops_next(&text, &op)) > 0) {
        enum delivery done = pass_over(&op, mlflow_client_do(&d->client, &op, a), &d->is_refused,
                                       a);
        if (done != DELIVERY_DONE)
            return done;
        d->at = (size_t)(text.at - d->ops.data);
    }
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "a mistake in toll: what was to be sent makes no sense");
        return DELIVERY_REFUSED;
    }
    return d->is_refused ? DELIVERY_REFUSED : DELIVERY_DONE;
}

struct sending {
    struct mlflow_desk *desk;
    struct attempt *attempt;
    enum delivery delivery;
};

static int send_one(void *arg, const struct mlflow_op *op)
{
    struct sending *s = arg;
    uint64_t samples;
    struct scan name = op->name;
    bool *is_refused = &s->desk->spool_is_refused;
    s->delivery = pass_over(op, mlflow_client_do(&s->desk->client, op, s->attempt), is_refused,
                            s->attempt);
    if (s->delivery != DELIVERY_DONE)
        return 1;
    if (op->kind == MLFLOW_SAMPLES && scan_u64(&name, &samples)) {
        *(*is_refused ? &s->attempt->rejected : &s->attempt->returned) += samples;
        *is_refused = false;
    }
    return 0;
}

enum delivery mlflow_desk_send_spool(struct mlflow_desk *d, struct attempt *a)
{
    struct sending s = {.desk = d, .attempt = a, .delivery = DELIVERY_DONE};
    int r = mlflow_spool_each(&d->spool, &d->spool.sent, send_one, &s);
    mlflow_desk_tell_run(d);
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "cannot read '%s': %s", d->spool.path,
                 r == -EBADMSG ? "it is cut short" : strerror(-r));
        return DELIVERY_REFUSED;
    }
    if (s.delivery == DELIVERY_DONE)
        mlflow_spool_remove(&d->spool);
    return s.delivery;
}

/* ---- Putting aside --------------------------------------------------------------------------- */

/* Commas are doubled, as in any destination. */
static void add_doubled(struct buf *b, const char *text)
{
    for (; *text; text++)
        buf_puts(b, *text == ',' ? ",," : (char[]){*text, '\0'});
}

/* Where to, without secrets: what is not in a file or a variable has to be said again. */
static void add_destination(struct buf *b, const struct sink *s)
{
    static const char *const options[] = {"timeout",    "user", "password_file",
                                          "token_file", "ca",   "insecure"};
    struct buf url = {0};
    url_show(&url, s->place);
    buf_printf(b, "%s:", s->kind->format.name);
    add_doubled(b, buf_failed(&url) ? "" : url.data);
    buf_done(&url);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (sink_options_has(&s->settings, options[i])) {
            buf_printf(b, ",%s=", options[i]);
            add_doubled(b, sink_options_text(&s->settings, options[i]));
        }
}

static void make_head(struct mlflow_desk *d)
{
    const struct mlflow_client *c = &d->client;
    struct buf *head = &d->spool.head, to = {0};
    buf_clear(head);
    mlflow_ops_add(head, MLFLOW_SPOOL, "mlflow", c->id, strlen(c->id));
    add_destination(&to, c->sink);
    mlflow_ops_add(head, MLFLOW_TO, "", to.data, to.length);
    head->failed |= buf_failed(&to);
    buf_done(&to);
    if (*c->run.experiment_id || c->experiment)
        mlflow_ops_add(head, MLFLOW_EXPERIMENT, c->run.experiment_id,
                       c->experiment ? c->experiment : "",
                       c->experiment ? strlen(c->experiment) : 0);
    if (c->create)
        mlflow_ops_add(head, MLFLOW_CREATE, "", c->create, strlen(c->create));
    d->run_is_told = *c->run.run_id;
    if (d->run_is_told)
        mlflow_ops_add(head, MLFLOW_RUN, c->run.run_id, "", 0);
}

void mlflow_desk_tell_run(struct mlflow_desk *d)
{
    struct buf op = {0};
    if (d->run_is_told || d->spool.fd < 0 || !*d->client.run.run_id)
        return;
    mlflow_ops_add(&op, MLFLOW_RUN, d->client.run.run_id, "", 0);
    d->run_is_told = !buf_failed(&op) && mlflow_spool_add(&d->spool, op.data, op.length, true) == 0;
    buf_done(&op);
}

static const char *in_words(int r)
{
    return r == -EFBIG   ? "it is as large as the option spool_size lets it be"
           : r == -EPERM ? "its directory is not ours alone"
                         : strerror(-r);
}

/* What did not fit before is lost for another reason than what is kept was not sent. */
static void say_where(const struct mlflow_desk *d, const char *why, struct attempt *a)
{
    int r = d->spool_failure;
    snprintf(a->why, sizeof a->why, "kept in '%s' for 'toll send'%s%s%s%s%.100s", d->spool.path,
             r ? ", as far as it went (" : "", r ? in_words(r) : "", r ? ")" : "", *why ? ": " : "",
             why);
}

/* The rest of the batch; otherwise when it cannot be. Samples of which something was refused are
 * counted as that now, not once more when the rest of them arrives. */
static enum delivery put_aside(struct mlflow_desk *d, const struct batch *b, struct attempt *a,
                               enum delivery otherwise)
{
    char why[sizeof a->why];
    memcpy(why, a->why, sizeof why);
    if (!d->spool.path)
        return otherwise;
    if (d->spool.fd < 0)
        make_head(d);
    size_t end = d->is_refused ? max_u64(d->count_at, d->at) : d->ops.length;
    int r = buf_failed(&d->spool.head)
                ? -ENOMEM
                : mlflow_spool_add(&d->spool, d->ops.data + d->at, end - d->at, batch_has_end(b));
    if (r < 0) {
        d->spool_failure = r;
        snprintf(a->why, sizeof a->why, "%.80s; and it cannot be kept in '%.90s': %s", why,
                 d->spool.path, in_words(r));
        return otherwise;
    }
    mlflow_desk_tell_run(d);
    say_where(d, why, a);
    return d->is_refused ? DELIVERY_REFUSED : DELIVERY_KEPT;
}

/* ---- The courier's ----------------------------------------------------------------------------
 */

static bool encode(struct mlflow_desk *d, const struct batch *b)
{
    char samples[24];
    buf_clear(&d->ops);
    d->at = 0;
    d->is_refused = false;
    mlflow_frames_encode(&d->frames, b, &d->ops);
    d->count_at = d->ops.length;
    snprintf(samples, sizeof samples, "%llu", (unsigned long long)b->samples);
    if (b->samples)
        mlflow_ops_add(&d->ops, MLFLOW_SAMPLES, samples, "", 0);
    if (!buf_failed(&d->ops))
        return true;
    buf_done(&d->ops);
    return false;
}

/* The time until the server is asked again for what is in the spool. */
static void wait_longer(struct mlflow_desk *d, const struct attempt *a)
{
    d->wait_ns = d->wait_ns ? min_u64(d->wait_ns * 2, LONGEST_WAIT_NS) : FIRST_WAIT_NS;
    d->next_ns = clock_mono(NULL) +
                 (a->wait_ns ? min_u64(a->wait_ns, 4 * LONGEST_WAIT_NS) : d->wait_ns);
}

enum delivery mlflow_desk_deliver(struct mlflow_desk *d, const struct batch *b, struct attempt *a)
{
    bool is_end = batch_has_end(b);
    if (!b->attempt && !encode(d, b))
        return courier_lacks_memory(a);
    bool is_spooling = mlflow_spool_has_some(&d->spool);
    if (is_spooling && !is_end && clock_mono(NULL) < d->next_ns) {
        memcpy(a->why, d->why, sizeof a->why);
        return put_aside(d, b, a, DELIVERY_AGAIN);
    }
    enum delivery done = is_spooling ? mlflow_desk_send_spool(d, a) : DELIVERY_DONE;
    if (done == DELIVERY_DONE)
        done = send_batch(d, a);
    memcpy(d->why, a->why, sizeof d->why);
    if (done == DELIVERY_AGAIN && (is_end || (!is_spooling && b->attempt + 1 < PATIENCE)))
        return done;
    if (done == DELIVERY_AGAIN || done == DELIVERY_KEPT) {
        wait_longer(d, a);
        return put_aside(d, b, a, done == DELIVERY_KEPT ? DELIVERY_REFUSED : done);
    }
    d->wait_ns = 0;
    return done;
}

enum delivery mlflow_desk_leave(struct mlflow_desk *d, const struct batch *b, struct attempt *a)
{
    if (!b->attempt && !encode(d, b))
        return DELIVERY_REFUSED;
    snprintf(a->why, sizeof a->why, "%s", *d->why ? d->why : "there was no time left");
    return put_aside(d, b, a, DELIVERY_REFUSED);
}

void mlflow_desk_done(struct mlflow_desk *d)
{
    mlflow_client_done(&d->client);
    mlflow_frames_done(&d->frames);
    mlflow_spool_done(&d->spool);
    buf_done(&d->ops);
}
