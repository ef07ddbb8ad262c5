/* SPDX-License-Identifier: MIT */
#include "sink/spooler.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/url.h"

#include <stdio.h>
#include <string.h>

/* ==== Spooler ================================================================================= */

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

static const char *spooler_in_words(int r)
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
             r ? ", as far as it went (" : "", r ? spooler_in_words(r) : "", r ? ")" : "",
             *why ? ": " : "", why);
}

/* What is left of the batch, in one piece: all of it or nothing is in the file. */
static int spooler_add_rest(struct spooler *s, size_t end, bool is_last)
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
    int r = spooler_add_rest(s, end, batch_has_end(b));
    if (r < 0) {
        s->spool_failure = r;
        snprintf(a->why, sizeof a->why, "%.80s; and it cannot be kept in '%.90s': %s", why,
                 s->spool.path, spooler_in_words(r));
        return otherwise;
    }
    if (s->plan.after)
        s->plan.after(s->plan.arg);
    say_where(s, why, a);
    return s->is_refused ? DELIVERY_REFUSED : DELIVERY_KEPT;
}

/* ---- The sender's ---------------------------------------------------------------------------- */

static bool spooler_encode(struct spooler *s, const struct batch *b)
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
    if (!b->attempt && !spooler_encode(s, b))
        return sender_lacks_memory(a);
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
    if (!b->attempt && !spooler_encode(s, b))
        return DELIVERY_REFUSED;
    snprintf(a->why, sizeof a->why, "%s", *s->why ? s->why : "there was no time left");
    return put_aside(s, b, a, DELIVERY_REFUSED);
}

/* ==== Spool send ============================================================================== */

enum { ATTEMPTS = 3 };

/* What the file says of itself, whatever kind of output wrote it. */
struct content {
    bool is_spool;
    uint64_t sent; /* bytes of it that an earlier attempt has sent … */
    uint64_t done; /* … and so much of the operation behind them */
    uint64_t points;
    char *kind, *to; /* owned; NULL: nothing */
};

static char *spool_send_copy(struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    return length ? strndup(text.at, length) : NULL;
}

/* Figures in an operation. Inside a string of JSON, a quote has a backslash before it. */
static uint64_t count_points(const struct spool_op *op)
{
    static const char key[] = "\"timestamp\":";
    uint64_t count = 0;
    struct scan name = op->name;
    if (op->kind == SPOOL_REQUEST)
        scan_u64(&name, &count);
    const char *at = op->kind == SPOOL_BATCH ? op->body.at : op->body.end;
    while ((at = memmem(at, (size_t)(op->body.end - at), key, sizeof key - 1))) {
        count++;
        at += sizeof key - 1;
    }
    return count;
}

struct counting {
    uint64_t at, end; /* bytes of the file */
    uint64_t points;
};

static int count_before(void *arg, const struct spool_op *op)
{
    struct counting *c = arg;
    if (c->at >= c->end)
        return 1;
    c->points += count_points(op);
    return 0;
}

static int spool_send_look_at(void *arg, const struct spool_op *op)
{
    struct content *c = arg;
    struct scan name = op->name, body = op->body;
    if (!c->is_spool && op->kind != SPOOL_HEAD)
        return -EINVAL;
    c->is_spool = true;
    if (op->kind == SPOOL_HEAD) {
        free(c->kind);
        c->kind = spool_send_copy(op->name);
    }
    if (op->kind == SPOOL_TO) {
        free(c->to);
        c->to = spool_send_copy(op->body);
    }
    if (op->kind == SPOOL_SENT) {
        c->done = 0;
        scan_u64(&name, &c->sent);
        scan_u64(&body, &c->done);
    }
    c->points += count_points(op);
    return 0;
}

/* A file that toll was killed over may end with half an operation: what is before it counts. */
static int read_content(struct spool *spool, struct content *c, struct toll_error *e)
{
    uint64_t end = 0;
    int r = spool_each(spool, &end, spool_send_look_at, c);
    if (!c->is_spool || !c->kind)
        return err_set(e, -EINVAL, "'%s' is not a spool of toll", spool->path);
    if (r == -EBADMSG) {
        r = ftruncate(spool->fd, (off_t)end) < 0 ? -errno : 0;
        spool->length = end;
    }
    if (c->sent > end)
        c->sent = c->done = 0;
    return r < 0 ? err_set(e, r, "cannot read '%s': %s", spool->path, strerror(-r)) : 0;
}

/* Where it was meant to go, or where it is to go now. */
static int open_sink(struct sink **ret, const struct content *c, const char *destination,
                     struct toll_error *e)
{
    struct selection everything;
    struct toll_output o = {.size = sizeof o, .destination = destination ? destination : c->to};
    size_t length = strlen(c->kind);
    if (!o.destination)
        return err_set(e, -EINVAL, "the spool does not say where to; name it, %.40s:URL", c->kind);
    if (strncmp(o.destination, c->kind, length) != 0 || o.destination[length] != ':')
        return err_set(e, -EINVAL, "this spool is for %.40s: it goes to '%.40s:URL', not '%s'",
                       c->kind, c->kind, o.destination);
    /* A file that says so must not make toll open another one. */
    const struct sink_kind *const *kind = sink_kinds;
    while (*kind && (strcmp((*kind)->format.name, c->kind) != 0 || !(*kind)->spooler))
        kind++;
    if (!*kind)
        return err_set(e, -EINVAL, "this spool is for %.40s, which toll puts nothing aside for",
                       c->kind);
    int r = selection_parse(&everything, NULL, e);
    return r < 0 ? r : sink_open(ret, &o, &everything, e);
}

static int spool_send_send_all(struct spooler *spooler, struct attempt *a)
{
    enum delivery done = DELIVERY_AGAIN;
    for (unsigned i = 0; i < ATTEMPTS && done == DELIVERY_AGAIN; i++) {
        if (i)
            usleep(250000U << i);
        done = spooler_send(spooler, a);
    }
    return done == DELIVERY_DONE ? 0 : -EIO;
}

/* Whether a destination that is named now is the server that the spool was for, with another
 * password perhaps. */
static bool is_same_server(const struct sink *s, const struct content *c)
{
    struct buf there = {0};
    spooler_add_url(&there, s);
    bool is_same = !buf_failed(&there) && c->to && strncmp(c->to, there.data, there.length) == 0 &&
                   (!c->to[there.length] || c->to[there.length] == ',') &&
                   !sink_options_has(&s->settings, "experiment") &&
                   !sink_options_has(&s->settings, "run_id");
    buf_done(&there);
    return is_same;
}

static int spool_send_send_to(struct sink *s, struct spool *spool, const struct content *c,
                              bool is_named, struct toll_sent *ret, struct toll_error *e)
{
    struct spooler *spooler = s->kind->spooler(s);
    struct attempt a = {0};
    bool is_elsewhere = is_named && !is_same_server(s, c);
    int r = s->kind->take_spool ? s->kind->take_spool(s, spool, is_elsewhere, e) : 0;
    if (r < 0)
        return r;
    if (!is_elsewhere && c->sent) {
        struct counting before = {.end = c->sent};
        spool_each(spool, &before.at, count_before, &before);
        ret->points_before = before.points + c->done;
        spool->sent = c->sent;
        spooler->spool_done = c->done;
    }
    ret->points = left_u64(c->points, ret->points_before);
    spooler->is_elsewhere = is_elsewhere;
    spool_done(&spooler->spool);
    spooler->spool = *spool;
    *spool = (struct spool){.fd = -1};
    char *path = strdup(spooler->spool.path);
    uint64_t length = spooler->spool.length; /* it grows by the mark of how far it was sent */
    r = spool_send_send_all(spooler, &a);
    ret->samples = a.returned;
    ret->refused = a.rejected;
    if (s->kind->name_run)
        s->kind->name_run(s, ret->run, sizeof ret->run);
    if (r < 0)
        err_set(e, r, "%s: %s; '%s' stays%s", s->name, a.why, path ? path : "",
                spooler->spool.length > length ? ", and the rest of it can be sent again"
                                               : " as it is");
    else if (a.is_partly || a.rejected)
        r = err_set(e, -EREMOTEIO, "%s: not everything was taken: %s", s->name, a.why);
    free(path);
    return r;
}

int spool_send(const char *path, const char *destination, struct toll_sent *ret,
               struct toll_error *e)
{
    struct spool spool;
    struct content content = {0};
    struct sink *s = NULL;
    int r = spool_open(&spool, path);
    if (r < 0)
        return r == -EBUSY     ? err_set(e, r, "'%s' is being written by another toll", path)
               : r == -EBADMSG ? err_set(e, -EINVAL, "'%s' is not a spool of toll", path)
                               : err_set(e, r, "cannot open '%s': %s", path, strerror(-r));
    r = read_content(&spool, &content, e);
    if (r == 0)
        r = open_sink(&s, &content, destination, e);
    if (r == 0 && s)
        r = spool_send_send_to(s, &spool, &content, destination != NULL, ret, e);
    sink_close(s, false);
    free(content.kind);
    free(content.to);
    if (spool.fd >= 0) /* it stays */
        close(spool.fd);
    free(spool.path);
    return r;
}
