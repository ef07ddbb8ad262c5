/* SPDX-License-Identifier: MIT */
#include "sink/spool_send.h"

#include "base/err.h"
#include "sink/spooler.h"

#include <stdio.h>
#include <string.h>

enum { ATTEMPTS = 3 };

/* What the file says of itself, whatever kind of output wrote it. */
struct content {
    bool is_spool;
    uint64_t sent; /* bytes of it that an earlier attempt has sent … */
    uint64_t done; /* … and so much of the operation behind them */
    uint64_t points;
    char *kind, *to; /* owned; NULL: nothing */
};

static char *copy(struct scan text)
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

static int look_at(void *arg, const struct spool_op *op)
{
    struct content *c = arg;
    struct scan name = op->name, body = op->body;
    if (!c->is_spool && op->kind != SPOOL_HEAD)
        return -EINVAL;
    c->is_spool = true;
    if (op->kind == SPOOL_HEAD) {
        free(c->kind);
        c->kind = copy(op->name);
    }
    if (op->kind == SPOOL_TO) {
        free(c->to);
        c->to = copy(op->body);
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
    int r = spool_each(spool, &end, look_at, c);
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

static int send_all(struct spooler *spooler, struct attempt *a)
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

static int send_to(struct sink *s, struct spool *spool, const struct content *c, bool is_named,
                   struct toll_sent *ret, struct toll_error *e)
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
    r = send_all(spooler, &a);
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
        r = send_to(s, &spool, &content, destination != NULL, ret, e);
    sink_close(s, false);
    free(content.kind);
    free(content.to);
    if (spool.fd >= 0) /* it stays */
        close(spool.fd);
    free(spool.path);
    return r;
}
