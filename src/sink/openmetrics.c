/* SPDX-License-Identifier: MIT
 * OpenMetrics in three ways, which the place tells:
 *
 *   FILE.om            all samples with their times (om_file.h), to be loaded afterwards
 *   FILE.prom          the newest figures without times, for the textfile collector of the node
 *                      exporter: replaced as a whole, as text of the older format
 *   openmetrics::PORT  an endpoint that is scraped (om_server.h)
 */
#include "base/err.h"
#include "base/file.h"
#include "base/output_file.h"
#include "sink/exposition.h"
#include "sink/om_address.h"
#include "sink/om_file.h"
#include "sink/om_server.h"
#include "sink/sinks.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_GRACE_NS (600 * NS_PER_SECOND) /* a file is put in order, however long it is */

struct openmetrics {
    enum { WAY_FILE, WAY_NEWEST, WAY_SERVER } way;
    struct points points;
    struct om_file file;
    struct exposition newest;
    pthread_mutex_t lock;     /* of newest and of the next two, when there is a server */
    bool is_fresh;            /* nobody was served the newest sample yet */
    uint64_t served;          /* samples that somebody was served */
    bool is_taken;            /* the port, by another program */
    struct om_server *server; /* NULL: it could not be started */
    struct buf text;
};

/* ---- While a sample is taken ----------------------------------------------------------------- */

static void serve(void *arg, bool open, struct buf *b)
{
    struct openmetrics *o = arg;
    pthread_mutex_lock(&o->lock);
    exposition_write(&o->newest, b, open ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT);
    o->served += o->is_fresh;
    o->is_fresh = false;
    pthread_mutex_unlock(&o->lock);
}

static void begin_to_serve(struct sink *s)
{
    struct openmetrics *o = s->state;
    int r = o->is_taken ? -EADDRINUSE : om_server_start(&o->server, s->fd, serve, o);
    if (r < 0) {
        s->failure = r;
        s->is_failure_noted = true;
        snprintf(s->notice, sizeof s->notice,
                 "cannot listen at '%s': %s; nothing is served, the job goes on", s->name,
                 strerror(-r));
        return;
    }
    s->thread = om_server_thread(o->server);
    const char *open = "can be read from other machines, without a password";
    bool is_open = !om_server_is_local(o->server);
    if (om_address_has_any_port(s->place))
        snprintf(s->notice, sizeof s->notice, "listens at http://%s/metrics%s%s", s->name,
                 is_open ? "; it " : "", is_open ? open : "");
    else if (is_open)
        snprintf(s->notice, sizeof s->notice, "%s %s", s->name, open);
}

static void openmetrics_begin(struct sink *s, const struct run *run)
{
    struct openmetrics *o = s->state;
    exposition_begin(&o->newest, run);
    if (o->way == WAY_FILE) {
        /* Only now that the command runs; and behind the end of another run nothing may stand. */
        if (ftruncate(s->fd, 0) < 0 && errno != EINVAL)
            s->failure = -errno;
        om_file_init(&o->file, &o->points, s->fd, s->stays_open ? NULL : s->place);
    }
    if (o->way == WAY_SERVER)
        begin_to_serve(s);
}

/* The server has no courier: what it serves is taken over at once. */
static void openmetrics_frame(struct sink *s, const struct frame *f)
{
    struct openmetrics *o = s->state;
    if (o->way == WAY_SERVER && !o->server)
        return;
    points_add(&o->points, s->run, &s->selection, f, &s->text);
    if (o->way != WAY_SERVER)
        return;
    pthread_mutex_lock(&o->lock);
    exposition_take(&o->newest, s->text.data, s->text.length);
    o->is_fresh = true;
    pthread_mutex_unlock(&o->lock);
    buf_clear(&s->text);
}

/* Samples that came and went between two scrapes are not lost: that is how scraping is. */
static void openmetrics_outcome(struct sink *s, struct output_summary *ret)
{
    struct openmetrics *o = s->state;
    pthread_mutex_lock(&o->lock);
    ret->delivered = o->served;
    pthread_mutex_unlock(&o->lock);
    if (o->server)
        om_server_count(o->server, &ret->scrapes, &ret->bytes);
}

static void openmetrics_summary(struct sink *s, const struct summary *summary)
{
    struct openmetrics *o = s->state;
    exposition_add_end(&s->text, summary);
    if (o->way != WAY_SERVER)
        return;
    pthread_mutex_lock(&o->lock);
    exposition_take_end(&o->newest, s->text.data, s->text.length);
    pthread_mutex_unlock(&o->lock);
    buf_clear(&s->text);
}

/* ---- In the courier's thread ----------------------------------------------------------------- */

static enum delivery failed(struct attempt *a, int r)
{
    snprintf(a->why, sizeof a->why, "%s", r == -EAGAIN ? "destination too slow" : strerror(-r));
    return DELIVERY_REFUSED;
}

/* What is not written to a file now will not be better later; what was before stays. */
static enum delivery write_samples(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct openmetrics *o = s->state;
    int failure = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct piece *p = &b->pieces[i];
        int r = p->of == PIECE_SUMMARY ? om_file_finish(&o->file)
                                       : om_file_add(&o->file, p->data, p->length);
        s->bytes = o->file.bytes;
        failure = r < 0 ? r : failure;
        a->lacking += r < 0 ? p->samples : 0;
    }
    if (!failure)
        return DELIVERY_DONE;
    a->is_partly = a->lacking < b->samples;
    enum delivery d = failed(a, failure);
    return a->is_partly ? DELIVERY_DONE : d;
}

/* As a whole: half of it is never read. Several may write to the same place. It is for the
 * collector, which is another user, whatever the umask is. */
static int replace(const char *path, const struct buf *text)
{
    struct replacement file;
    int r = replacement_open(&file, path, REPLACEMENT_FOR_ALL, NULL);
    if (r < 0)
        return r;
    r = file_write_quietly(file.fd, text->data, text->length, NULL);
    if (r == 0)
        r = replacement_commit(&file);
    replacement_close(&file);
    return r;
}

static enum delivery write_newest(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct openmetrics *o = s->state;
    exposition_take_batch(&o->newest, b);
    buf_clear(&o->text);
    exposition_write(&o->newest, &o->text, EXPOSITION_TEXT);
    int r = buf_failed(&o->text) ? -ENOMEM : replace(s->place, &o->text);
    s->bytes += r == 0 ? o->text.length : 0;
    return r < 0 ? failed(a, r) : DELIVERY_DONE;
}

static enum delivery openmetrics_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct openmetrics *o = s->state;
    return o->way == WAY_FILE ? write_samples(s, b, a) : write_newest(s, b, a);
}

/* ---- Its life -------------------------------------------------------------------------------- */

/* The directory has to be there, and to take files. */
static int check_directory(const char *path, struct toll_error *e)
{
    struct replacement file;
    int r = replacement_open(&file, path, REPLACEMENT_FOR_ALL, e);
    if (r == 0)
        replacement_close(&file);
    return r;
}

/* A port that another program has is no reason not to run the job: that is noted at the beginning.
 * Of a port that the kernel has chosen, the sink has the address as its name. */
static int open_server(struct sink *s, struct toll_error *e)
{
    struct openmetrics *o = s->state;
    char address[80];
    int r = om_address_listen(s->place, &s->fd, e);
    o->is_taken = r == -EADDRINUSE;
    if (r < 0)
        return o->is_taken ? 0 : r;
    s->owns_fd = true;
    if (!om_address_has_any_port(s->place) || !om_address_name(s->fd, address, sizeof address))
        return 0;
    char *name = strdup(address);
    if (!name)
        return err_set(e, -ENOMEM, "no memory for an output");
    free(s->name);
    s->name = name;
    return 0;
}

static int openmetrics_open(struct sink *s, struct toll_error *e)
{
    struct openmetrics *o = s->state = calloc(1, sizeof *o);
    if (!o)
        return err_set(e, -ENOMEM, "no memory for an output");
    points_init(&o->points);
    o->points.with_id = sink_options_u64(&s->settings, "id");
    pthread_mutex_init(&o->lock, NULL);
    o->newest.points = &o->points;
    o->file.spool = -1;
    o->way = om_address_is(s->place)        ? WAY_SERVER
             : ends_with(s->place, ".prom") ? WAY_NEWEST
                                            : WAY_FILE;
    if (!*s->place || (*s->place == ':' && o->way != WAY_SERVER))
        return err_set(e, -EINVAL, "openmetrics takes a file, or an address such as :9464");
    if (strspn(s->place, "0123456789") == strlen(s->place))
        return err_set(e, -EINVAL,
                       "openmetrics: '%s' may be a port or a file: write ':%s' to listen there, "
                       "'./%s' for a file",
                       s->place, s->place, s->place);
    if (o->way == WAY_SERVER) {
        s->plan.deliver = NULL;
        s->way = OUTPUT_SCRAPED;
        return open_server(s, e);
    }
    if (!sink_options_has(&s->settings, "every"))
        s->plan.gather_ns = o->way == WAY_FILE ? NS_PER_SECOND : 5 * NS_PER_SECOND;
    s->grace_ns = max_u64(s->grace_ns, FILE_GRACE_NS);
    s->plan.first_at_once = o->way == WAY_NEWEST;
    return o->way == WAY_FILE ? sink_open_file(s, s->place, e) : check_directory(s->place, e);
}

static void openmetrics_close(struct sink *s)
{
    struct openmetrics *o = s->state;
    if (!o)
        return;
    om_server_stop(o->server);
    om_file_done(&o->file);
    exposition_done(&o->newest);
    points_done(&o->points);
    pthread_mutex_destroy(&o->lock);
    buf_done(&o->text);
    free(o);
}

static const struct sink_option options[] = {
    SINK_ID_OPTION,
    {{"every", "TIME", "",
      "how often it is written: 1s by default, a file.prom 5s; what is scraped "
      "is always the newest"},
     OPTION_DURATION,
     false},
    {{"queue", "SIZE", "16MiB",
      "how much may wait for a slow disk; beyond it the oldest samples "
      "are dropped"},
     OPTION_QUEUE,
     false},
    {.facts = {0}},
};

const struct sink_kind sink_openmetrics = {
    .format = {"openmetrics", ".om",
               "OpenMetrics: FILE.om has all samples with their times, FILE.prom the newest for a "
               "textfile collector, :PORT is an endpoint to scrape",
               "FILE|[HOST]:PORT"},
    .other_suffixes = {".prom"},
    .holds_one_run = true,
    .options = options,
    .open = openmetrics_open,
    .begin = openmetrics_begin,
    .frame = openmetrics_frame,
    .summary = openmetrics_summary,
    .outcome = openmetrics_outcome,
    .deliver = openmetrics_deliver,
    .close = openmetrics_close,
};
