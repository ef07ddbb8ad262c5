/* SPDX-License-Identifier: MIT */
#include "sink/spooler.h"

#include "base/clock.h"
#include "base/url.h"

#include <stdio.h>
#include <string.h>

#define FIRST_WAIT_NS   (NS_PER_SECOND)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)

/* So often a batch is tried before it is put aside, which takes some two seconds. */
enum { PATIENCE = 4 };

int spooler_init(struct spooler *s, const struct spooler_plan *plan, struct toll_error *e)
{
    const struct sink *sink = plan->sink;
    *s = (struct spooler){.plan = *plan, .spool = {.fd = -1}};
    uuid_make(s->id, clock_real(NULL), NULL);
    int r = spool_init(&s->spool, sink->kind->format.name,
                       sink_options_text(&sink->settings, "spool"), s->id, e);
    s->spool.most_bytes = sink_options_u64(&sink->settings, "spool_size");
    return r;
}

void spooler_done(struct spooler *s)
{
    spool_done(&s->spool);
    buf_done(&s->ops);
}

bool spooler_is_for_others(int http_status)
{
    return http_status == 401 || http_status == 403 || http_status == 407 ||
           (http_status >= 300 && http_status < 400);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Operations that carry samples: when one is refused, so are they. */
static bool has_samples(const struct spool_op *op)
{
    struct scan name = op->name;
    uint64_t figures;
    return op->kind == SPOOL_BATCH || (op->kind == SPOOL_REQUEST && scan_u64(&name, &figures));
}

/* Does one, at the place where an earlier attempt had to stop. What is refused for good is passed
 * over. */
static enum delivery send_op(struct spooler *s, const struct spool_op *op, uint64_t *done,
                             bool *ret_refused, struct attempt *a)
{
    struct scan name = op->name;
    if (op->kind == SPOOL_SKIP) {
        scan_u64(&name, done);
        return DELIVERY_DONE;
    }
    if (op->kind == SPOOL_SAMPLES || op->kind == SPOOL_SENT)
        return DELIVERY_DONE;
    enum delivery d = s->plan.send(s->plan.arg, op, done, a);
    if (d == DELIVERY_DONE || d == DELIVERY_REFUSED)
        *done = 0;
    if (d != DELIVERY_REFUSED)
        return d;
    if (has_samples(op))
        *ret_refused = true;
    else
        a->is_partly = true;
    return DELIVERY_DONE;
}

static enum delivery send_batch(struct spooler *s, struct attempt *a)
{
    struct scan text = scan_text(s->ops.data + s->at, s->ops.length - s->at);
    struct spool_op op;
    int r;
    while ((r = spool_ops_next(&text, &op)) > 0) {
        enum delivery d = send_op(s, &op, &s->done, &s->is_refused, a);
        s->lacking += a->lacking;
        a->lacking = 0;
        if (d != DELIVERY_DONE)
            return d;
        s->at = (size_t)(text.at - s->ops.data);
    }
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "a mistake in toll: what was to be sent makes no sense");
        return DELIVERY_REFUSED;
    }
    a->lacking = s->lacking;
    a->is_partly |= s->lacking > 0;
    return s->is_refused ? DELIVERY_REFUSED : DELIVERY_DONE;
}

/* So that another attempt, by this process or a later one, begins where this one has ended. */
static void mark_sent(struct spooler *s)
{
    char at[24], done[24];
    struct buf op = {0};
    if (!s->is_mark_due || s->is_elsewhere)
        return;
    s->is_mark_due = false;
    snprintf(at, sizeof at, "%llu", (unsigned long long)s->spool.sent);
    snprintf(done, sizeof done, "%llu", (unsigned long long)s->spool_done);
    spool_ops_add(&op, SPOOL_SENT, at, done, s->spool_done ? strlen(done) : 0);
    if (!buf_failed(&op))
        spool_add(&s->spool, op.data, op.length, true);
    buf_done(&op);
}

struct sending {
    struct spooler *spooler;
    struct attempt *attempt;
    enum delivery delivery;
};

static int send_one(void *arg, const struct spool_op *op)
{
    struct sending *s = arg;
    struct spooler *spooler = s->spooler;
    uint64_t samples, before = spooler->spool_done;
    struct scan name = op->name;
    bool *is_refused = &spooler->spool_is_refused;
    mark_sent(spooler); /* of the one before */
    s->delivery = send_op(spooler, op, &spooler->spool_done, is_refused, s->attempt);
    spooler->spool_lacking += s->attempt->lacking;
    s->attempt->lacking = 0; /* which is of a batch */
    if (s->delivery != DELIVERY_DONE) {
        spooler->is_mark_due |= spooler->spool_done != before;
        return 1;
    }
    spooler->is_mark_due |= has_samples(op);
    if (op->kind == SPOOL_SAMPLES && scan_u64(&name, &samples)) {
        uint64_t rejected = *is_refused ? samples : min_u64(spooler->spool_lacking, samples);
        s->attempt->rejected += rejected;
        s->attempt->returned += samples - rejected;
        *is_refused = false;
        spooler->spool_lacking = 0;
    }
    return 0;
}

enum delivery spooler_send(struct spooler *s, struct attempt *a)
{
    struct sending sending = {.spooler = s, .attempt = a, .delivery = DELIVERY_DONE};
    int r = spool_each(&s->spool, &s->spool.sent, send_one, &sending);
    if (r != 0)
        mark_sent(s);
    if (s->plan.after)
        s->plan.after(s->plan.arg);
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "cannot read '%s': %s", s->spool.path,
                 r == -EBADMSG ? "it is cut short" : strerror(-r));
        return DELIVERY_REFUSED;
    }
    if (sending.delivery == DELIVERY_DONE) {
        spool_remove(&s->spool);
        s->is_mark_due = false;
        s->spool_done = 0;
    }
    return sending.delivery;
}

/* ---- Putting aside --------------------------------------------------------------------------- */

/* Commas are doubled, as in any destination. */
static void add_doubled(struct buf *b, const char *text)
{
    for (; *text; text++)
        buf_puts(b, *text == ',' ? ",," : (char[]){*text, '\0'});
}

void spooler_add_url(struct buf *b, const struct sink *s)
{
    struct buf url = {0};
    url_show(&url, s->place);
    buf_printf(b, "%s:", s->kind->format.name);
    add_doubled(b, buf_failed(&url) ? "" : url.data);
    buf_done(&url);
}

/* Where to, without secrets: what is not in a file or a variable has to be said again. */
static void add_destination(struct buf *b, const struct sink *s)
{
    static const char *const options[] = {"timeout", "user", "password_file", "token_file",
                                          "ca",      "cert", "key",           "insecure"};
    spooler_add_url(b, s);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (sink_options_has(&s->settings, options[i])) {
            buf_printf(b, ",%s=", options[i]);
            add_doubled(b, sink_options_text(&s->settings, options[i]));
        }
}

static void make_head(struct spooler *s)
{
    struct buf *head = &s->spool.head, to = {0};
    buf_clear(head);
    spool_ops_add(head, SPOOL_HEAD, s->plan.sink->kind->format.name, s->id, strlen(s->id));
    add_destination(&to, s->plan.sink);
    spool_ops_add(head, SPOOL_TO, "", to.data, to.length);
    head->failed |= buf_failed(&to);
    buf_done(&to);
    if (s->plan.add_head)
        s->plan.add_head(s->plan.arg, head);
}

static const char *in_words(int r)
{
    return r == -EFBIG   ? "it is as large as the option spool_size lets it be"
           : r == -EPERM ? "its directory is not ours alone"
                         : strerror(-r);
}

/* What did not fit before is lost for another reason than what is kept was not sent. */
static void say_where(const struct spooler *s, const char *why, struct attempt *a)
{
    int r = s->spool_failure;
    snprintf(a->why, sizeof a->why, "%skept in '%s' for 'toll send'%s%s%s%s%.100s",
             s->is_refused ? "some of it was refused, the rest is " : "", s->spool.path,
             r ? ", as far as it went (" : "", r ? in_words(r) : "", r ? ")" : "", *why ? ": " : "",
             why);
}

/* What is left of the batch, in one piece: all of it or nothing is in the file. */
static int add_rest(struct spooler *s, size_t end, bool is_last)
{
    struct buf rest = {0};
    char done[24];
    snprintf(done, sizeof done, "%llu", (unsigned long long)s->done);
    if (s->done)
        spool_ops_add(&rest, SPOOL_SKIP, done, "", 0);
    if (s->done)
        buf_add(&rest, s->ops.data + s->at, end - s->at);
    int r = buf_failed(&rest) || buf_failed(&s->spool.head) ? -ENOMEM
            : s->done ? spool_add(&s->spool, rest.data, rest.length, is_last)
                      : spool_add(&s->spool, s->ops.data + s->at, end - s->at, is_last);
    buf_done(&rest);
    return r;
}

/* The rest of the batch; otherwise when it cannot be. Samples of which something was refused are
 * counted as that now, not once more when the rest of them arrives. */
static enum delivery put_aside(struct spooler *s, const struct batch *b, struct attempt *a,
                               enum delivery otherwise)
{
    char why[sizeof a->why];
    memcpy(why, a->why, sizeof why);
    if (!s->spool.path)
        return otherwise;
    if (s->spool.fd < 0)
        make_head(s);
    s->is_refused |= s->lacking > 0;
    size_t end = s->is_refused ? max_u64(s->count_at, s->at) : s->ops.length;
    int r = add_rest(s, end, batch_has_end(b));
    if (r < 0) {
        s->spool_failure = r;
        snprintf(a->why, sizeof a->why, "%.80s; and it cannot be kept in '%.90s': %s", why,
                 s->spool.path, in_words(r));
        return otherwise;
    }
    if (s->plan.after)
        s->plan.after(s->plan.arg);
    say_where(s, why, a);
    return s->is_refused ? DELIVERY_REFUSED : DELIVERY_KEPT;
}

/* ---- The sender's ---------------------------------------------------------------------------- */

static bool encode(struct spooler *s, const struct batch *b)
{
    char samples[24];
    buf_clear(&s->ops);
    s->at = 0;
    s->done = 0;
    s->lacking = 0;
    s->is_refused = false;
    bool is_encoded = s->plan.encode(s->plan.arg, b, &s->ops);
    s->count_at = s->ops.length;
    snprintf(samples, sizeof samples, "%llu", (unsigned long long)b->samples);
    if (b->samples)
        spool_ops_add(&s->ops, SPOOL_SAMPLES, samples, "", 0);
    if (is_encoded && !buf_failed(&s->ops))
        return true;
    buf_done(&s->ops);
    return false;
}

/* The time until the server is asked again for what is in the spool. */
static void wait_longer(struct spooler *s, const struct attempt *a)
{
    s->wait_ns = s->wait_ns ? min_u64(s->wait_ns * 2, LONGEST_WAIT_NS) : FIRST_WAIT_NS;
    s->next_ns = clock_mono(NULL) +
                 (a->wait_ns ? min_u64(a->wait_ns, 4 * LONGEST_WAIT_NS) : s->wait_ns);
}

enum delivery spooler_deliver(struct spooler *s, const struct batch *b, struct attempt *a)
{
    bool is_end = batch_has_end(b);
    if (!b->attempt && !encode(s, b))
        return courier_lacks_memory(a);
    bool is_spooling = spool_has_some(&s->spool);
    if (is_spooling && !is_end && clock_mono(NULL) < s->next_ns) {
        memcpy(a->why, s->why, sizeof a->why);
        return put_aside(s, b, a, DELIVERY_AGAIN);
    }
    enum delivery done = is_spooling ? spooler_send(s, a) : DELIVERY_DONE;
    if (done == DELIVERY_DONE)
        done = send_batch(s, a);
    memcpy(s->why, a->why, sizeof s->why);
    if (done == DELIVERY_AGAIN && (is_end || (!is_spooling && b->attempt + 1 < PATIENCE)))
        return done;
    if (done == DELIVERY_AGAIN || done == DELIVERY_KEPT) {
        wait_longer(s, a);
        return put_aside(s, b, a, done == DELIVERY_KEPT ? DELIVERY_REFUSED : done);
    }
    s->wait_ns = 0;
    return done;
}

enum delivery spooler_leave(struct spooler *s, const struct batch *b, struct attempt *a)
{
    if (!b->attempt && !encode(s, b))
        return DELIVERY_REFUSED;
    snprintf(a->why, sizeof a->why, "%s", *s->why ? s->why : "there was no time left");
    return put_aside(s, b, a, DELIVERY_REFUSED);
}
