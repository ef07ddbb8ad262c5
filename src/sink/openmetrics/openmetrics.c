/* SPDX-License-Identifier: MIT
 * OpenMetrics in three ways, chosen by the place:
 *
 *   FILE.om            all samples with their times, to be loaded afterwards
 *   FILE.prom          the newest figures without times, for the textfile collector of the node
 *                      exporter: replaced as a whole, in the older text format
 *   openmetrics::PORT  an endpoint that is scraped (server.c) */
#include "sink/openmetrics/openmetrics.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/memory.h"
#include "sink/points.h"
#include "sink/sink.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== File ==================================================================================== */

enum { READER_WAIT_MS = 1000 };
enum { POINTS_AT_ONCE = 4 * 1024 * 1024, FLUSH_BYTES = 64 * 1024 };

void om_file_init(struct om_file *f, struct points *points, int fd, const char *path)
{
    struct stat st;
    bool is_regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    *f = (struct om_file){
        .points = points, .fd = fd, .path = is_regular ? path : NULL, .is_regular = is_regular};
    /* In the same directory: there is room. */
    CLEANUP_FREE char *directory = f->path ? strdup(path) : NULL;
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (slash)
        slash[slash == directory] = '\0';
    f->points_fd = directory ? open(slash ? directory : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                             : -1;
}

void om_file_done(struct om_file *f)
{
    if (f->points)
        close_p(&f->points_fd);
    free(f->counts);
    buf_done(&f->text);
    *f = (struct om_file){.points_fd = -1};
}

static void om_add_sample(struct buf *b, const struct point_row *row, const struct metric *m,
                          int64_t time_ms, double value)
{
    exposition_series(b, row, m);
    exposition_number(b, value);
    buf_putc(b, ' ');
    buf_fixed(b, (uint64_t)time_ms, 3);
    buf_putc(b, '\n');
}

static void om_file_add_line(void *arg, int64_t time_ms, const struct point *point)
{
    struct om_file *f = arg;
    const struct metric *m;
    const struct point_row *row = points_series(f->points, point->series, &m);
    uint64_t bit = BIT(point->series % METRICS_PER_ENTITY);
    if (!(f->families[row->kind] & bit))
        exposition_family(&f->text, row->kind, m, EXPOSITION_OPENMETRICS);
    f->families[row->kind] |= bit;
    om_add_sample(&f->text, row, m, time_ms, point->value);
}

static void om_file_count(void *arg, int64_t time_ms, const struct point *point)
{
    struct om_file *f = arg;
    if (ARRAY_RESERVE(f->counts, f->series_count, point->series + 1))
        f->counts[point->series]++;
    else
        close_p(&f->points_fd); /* then the lines keep their order */
}

/* The sender's thread has time for a slow reader of a pipe; after one that took only half of a
 * text, nothing can follow. A full disk may take half of a text, which is cut off again. */
static int om_file_write(struct om_file *f)
{
    size_t half = 0;
    struct stat st;
    struct stream out;
    int r = buf_failed(&f->text) ? -ENOMEM : f->is_cut ? -EAGAIN : 0;
    if (r < 0)
        return r;
    if (f->is_regular) {
        r = file_write_quietly(f->fd, f->text.data, f->text.length, &half);
    } else {
        stream_open(&out, f->fd);
        r = stream_write_patiently(&out, f->text.data, f->text.length, READER_WAIT_MS);
        stream_close(&out);
        f->is_cut = r == -EAGAIN;
    }
    if (r < 0 && half && f->path && fstat(f->fd, &st) == 0 &&
        ftruncate(f->fd, st.st_size - (off_t)half) < 0)
        return -errno;
    f->bytes += r == 0 ? f->text.length : 0;
    return r;
}

int om_file_add(struct om_file *f, const char *chunk, size_t length)
{
    uint64_t described[ARRAY_LEN(f->families)];
    memcpy(described, f->families, sizeof described);
    buf_clear(&f->text);
    points_read(chunk, length, om_file_add_line, f);
    int r = om_file_write(f);
    buf_clear(&f->text);
    if (r < 0) {
        memcpy(f->families, described, sizeof described);
        return r;
    }
    if (f->points_fd >= 0 && file_write_quietly(f->points_fd, chunk, length, NULL) < 0)
        close_p(&f->points_fd);
    if (f->points_fd >= 0)
        points_read(chunk, length, om_file_count, f);
    return 0;
}

/* ---- Putting the lines in order -------------------------------------------------------------- */

struct om_moment {
    int64_t time_ms;
    double value;
};

struct om_ordering {
    struct om_file *f;
    size_t *series; /* owned: the numbers of series, by family */
    size_t series_count;
    uint64_t
        *next; /* owned, by number: where the next moment goes; UINT64_MAX: not in this round */
    struct om_moment *moments; /* owned */
    uint64_t room, expected;   /* moments that fit, and that come in this round */
    struct buf text;
    int fd;
    int failure;
    const struct metric *family; /* the last one that was described */
    enum entity_kind kind;       /* its entity */
};

static int om_compare_families(const void *a, const void *b, void *points)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct metric *m, *n;
    enum entity_kind k = points_series(points, x, &m)->kind, l = points_series(points, y, &n)->kind;
    if (k != l)
        return k < l ? -1 : 1;
    if (m != n)
        return m < n ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void om_order_point(void *arg, int64_t time_ms, const struct point *point)
{
    struct om_ordering *o = arg;
    uint64_t *at = &o->next[point->series];
    if (*at < o->expected)
        o->moments[(*at)++] = (struct om_moment){time_ms, point->value};
}

/* Reads all chunks that were kept. */
static int om_order_read(struct om_ordering *o)
{
    struct buf chunk = {0};
    struct points_head head;
    size_t room;
    off_t at = 0;
    int r = 0;
    for (ssize_t n; r == 0 && (n = pread(o->f->points_fd, &head, sizeof head, at)) != 0;) {
        size_t length = sizeof head + head.count * sizeof(struct point);
        buf_clear(&chunk);
        char *into = n == sizeof head ? buf_room(&chunk, length, &room) : NULL;
        if (!into || pread(o->f->points_fd, into, length, at) != (ssize_t)length)
            r = -EIO;
        else
            points_read(into, length, om_order_point, o);
        at += (off_t)length;
    }
    buf_done(&chunk);
    return r;
}

static void om_order_flush(struct om_ordering *o)
{
    if (o->failure == 0)
        o->failure = buf_failed(&o->text)
                         ? -ENOMEM
                         : file_write_quietly(o->fd, o->text.data, o->text.length, NULL);
    buf_clear(&o->text);
}

static void om_order_write_series(struct om_ordering *o, size_t series,
                                  const struct om_moment *moments)
{
    const struct metric *m;
    const struct point_row *row = points_series(o->f->points, series, &m);
    if (m != o->family || row->kind != o->kind)
        exposition_family(&o->text, row->kind, m, EXPOSITION_OPENMETRICS);
    o->family = m;
    o->kind = row->kind;
    for (uint64_t i = 0; i < o->f->counts[series]; i++) {
        om_add_sample(&o->text, row, m, moments[i].time_ms, moments[i].value);
        if (o->text.length > FLUSH_BYTES)
            om_order_flush(o);
    }
}

/* Writes as many series as fit into memory, from the first on. Returns their number. */
static size_t om_order_write_some(struct om_ordering *o, size_t first)
{
    const uint64_t *counts = o->f->counts;
    size_t end = first;
    o->expected = 0;
    memset(o->next, 0xFF, o->f->series_count * sizeof *o->next);
    while (end < o->series_count &&
           (end == first || o->expected + counts[o->series[end]] <= o->room)) {
        o->next[o->series[end]] = o->expected;
        o->expected += counts[o->series[end++]];
    }
    struct om_moment *more = reallocarray(o->moments, o->expected, sizeof *more);
    if (!more) {
        o->failure = -ENOMEM;
        return 0;
    }
    o->moments = more;
    o->failure = om_order_read(o);
    uint64_t at = 0;
    for (size_t i = first; i < end && o->failure == 0; i++) {
        om_order_write_series(o, o->series[i], o->moments + at);
        at += counts[o->series[i]];
    }
    return end - first;
}

static int om_order_write(struct om_ordering *o)
{
    struct om_file *f = o->f;
    o->series = calloc(f->series_count + 1, sizeof *o->series);
    o->next = calloc(f->series_count + 1, sizeof *o->next);
    if (!o->series || !o->next)
        return -ENOMEM;
    for (size_t i = 0; i < f->series_count; i++)
        if (f->counts[i])
            o->series[o->series_count++] = i;
    qsort_r(o->series, o->series_count, sizeof *o->series, om_compare_families, f->points);
    for (size_t at = 0; o->failure == 0 && at < o->series_count;)
        at += om_order_write_some(o, at);
    if (o->failure < 0)
        return o->failure;
    buf_puts(&o->text, "# EOF\n");
    om_order_flush(o);
    return o->failure;
}

/* The path may name something else by now, which is not replaced. */
static int om_file_replace(struct om_ordering *o)
{
    struct om_file *f = o->f;
    struct replacement file;
    struct stat st;
    int r = replacement_open(&file, f->path, 0, NULL);
    if (r < 0)
        return r;
    o->fd = file.fd;
    r = file.is_file ? om_order_write(o) : -EINVAL;
    if (r == 0)
        r = replacement_commit(&file);
    if (r == 0 && fstat(file.fd, &st) == 0)
        f->bytes = (uint64_t)st.st_size;
    replacement_close(&file);
    return r;
}

int om_file_finish(struct om_file *f)
{
    struct om_ordering o = {
        .f = f, .room = f->points_at_once ? f->points_at_once : POINTS_AT_ONCE, .fd = -1};
    int r = f->points_fd >= 0 ? om_file_replace(&o) : -EINVAL;
    free(o.series);
    free(o.next);
    free(o.moments);
    buf_done(&o.text);
    if (r == 0)
        return 0;
    buf_clear(&f->text);
    buf_puts(&f->text, "# EOF\n");
    return om_file_write(f);
}

/* ==== Sink ==================================================================================== */

#define FILE_GRACE_NS (600 * NS_PER_SECOND) /* for putting a long file in order */

struct openmetrics {
    enum { WAY_FILE, WAY_NEWEST, WAY_SERVER } way;
    struct points points;
    struct om_file file;
    struct exposition newest;
    pthread_mutex_t lock;     /* of newest and of the next two, when there is a server */
    bool is_fresh;            /* the newest sample was not served yet */
    uint64_t served;          /* samples that were served */
    bool is_port_in_use;      /* by another program */
    struct om_server *server; /* NULL: it could not be started */
    struct buf text;
};

/* ---- While a sample is taken ----------------------------------------------------------------- */

static void openmetrics_serve(void *arg, bool open, struct buf *b)
{
    struct openmetrics *o = arg;
    pthread_mutex_lock(&o->lock);
    exposition_write(&o->newest, b, open ? EXPOSITION_OPENMETRICS : EXPOSITION_TEXT);
    o->served += o->is_fresh;
    o->is_fresh = false;
    pthread_mutex_unlock(&o->lock);
}

static void openmetrics_begin_server(struct sink *s)
{
    struct openmetrics *o = s->state;
    int r = o->is_port_in_use ? -EADDRINUSE
                              : om_server_start(&o->server, s->fd, openmetrics_serve, o);
    if (r < 0) {
        s->failure = r;
        s->is_failure_noted = true;
        snprintf(s->notice, sizeof s->notice,
                 "cannot listen on '%s': %s; nothing is served, the job continues", s->name,
                 strerror(-r));
        return;
    }
    s->thread = om_server_thread(o->server);
    const char *open = "reachable from other machines without a password";
    bool is_open = !om_server_is_local(o->server);
    if (om_address_has_any_port(s->place))
        snprintf(s->notice, sizeof s->notice, "listening on http://%s/metrics%s%s", s->name,
                 is_open ? ", " : "", is_open ? open : "");
    else if (is_open)
        snprintf(s->notice, sizeof s->notice, "%s is %s", s->name, open);
}

static void openmetrics_begin(struct sink *s, const struct run *run)
{
    struct openmetrics *o = s->state;
    exposition_begin(&o->newest, run);
    if (o->way == WAY_FILE) {
        /* Only now that the command runs; nothing may follow the end of another run. */
        if (ftruncate(s->fd, 0) < 0 && errno != EINVAL)
            s->failure = -errno;
        om_file_init(&o->file, &o->points, s->fd, s->stays_open ? NULL : s->place);
    }
    if (o->way == WAY_SERVER)
        openmetrics_begin_server(s);
}

/* The server has no sender: its figures are updated at once. */
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

/* Samples between two scrapes are not lost: that is how scraping works. */
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

/* ---- In the sender's thread ----------------------------------------------------------------- */

static enum delivery openmetrics_failed(struct attempt *a, int r)
{
    snprintf(a->why, sizeof a->why, "%s", r == -EAGAIN ? "destination too slow" : strerror(-r));
    return DELIVERY_REFUSED;
}

/* Writing to a file is not retried. */
static enum delivery openmetrics_write_samples(struct sink *s, const struct batch *b,
                                               struct attempt *a)
{
    struct openmetrics *o = s->state;
    int failure = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct chunk *p = &b->chunks[i];
        int r = p->kind == CHUNK_SUMMARY ? om_file_finish(&o->file)
                                         : om_file_add(&o->file, p->data, p->length);
        s->bytes = o->file.bytes;
        failure = r < 0 ? r : failure;
        a->lacking += r < 0 ? p->weight : 0;
    }
    if (!failure)
        return DELIVERY_DONE;
    a->is_partly = a->lacking < b->samples;
    enum delivery d = openmetrics_failed(a, failure);
    return a->is_partly ? DELIVERY_DONE : d;
}

/* Replaces the file as a whole, so that half of it is never read. Readable by the collector, which
 * is another user, whatever the umask is. */
static enum delivery openmetrics_write_newest(struct sink *s, const struct batch *b,
                                              struct attempt *a)
{
    struct openmetrics *o = s->state;
    struct replacement file;
    exposition_take_batch(&o->newest, b);
    buf_clear(&o->text);
    exposition_write(&o->newest, &o->text, EXPOSITION_TEXT);
    int r = buf_failed(&o->text) ? -ENOMEM
                                 : replacement_open(&file, s->place, REPLACEMENT_FOR_ALL, NULL);
    if (r == 0) {
        r = file_write_quietly(file.fd, o->text.data, o->text.length, NULL);
        if (r == 0)
            r = replacement_commit(&file);
        replacement_close(&file);
    }
    s->bytes += r == 0 ? o->text.length : 0;
    return r < 0 ? openmetrics_failed(a, r) : DELIVERY_DONE;
}

static enum delivery openmetrics_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct openmetrics *o = s->state;
    return o->way == WAY_FILE ? openmetrics_write_samples(s, b, a)
                              : openmetrics_write_newest(s, b, a);
}

/* ---- Its life -------------------------------------------------------------------------------- */

/* A port that another program uses does not keep the job from running: it is noted at the
 * beginning. With a port that the kernel has chosen, the name of the sink is the address. */
static int openmetrics_open_server(struct sink *s, struct toll_error *e)
{
    struct openmetrics *o = s->state;
    char address[80];
    int r = om_address_listen(s->place, &s->fd, e);
    o->is_port_in_use = r == -EADDRINUSE;
    if (r < 0)
        return o->is_port_in_use ? 0 : r;
    s->owns_fd = true;
    if (!om_address_has_any_port(s->place) || !om_address_name(s->fd, address, sizeof address))
        return 0;
    char *name = strdup(address);
    if (!name)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    free(s->name);
    s->name = name;
    return 0;
}

static int openmetrics_open(struct sink *s, struct toll_error *e)
{
    struct openmetrics *o = s->state = calloc(1, sizeof *o);
    if (!o)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    points_init(&o->points);
    o->points.with_id = sink_options_u64(&s->settings, "id");
    pthread_mutex_init(&o->lock, NULL);
    o->newest.points = &o->points;
    o->file.points_fd = -1;
    o->way = om_address_is(s->place)        ? WAY_SERVER
             : ends_with(s->place, ".prom") ? WAY_NEWEST
                                            : WAY_FILE;
    if (!*s->place || (*s->place == ':' && o->way != WAY_SERVER))
        return err_set(
            e, -EINVAL,
            "openmetrics: invalid destination (expected a file, or an address such as :9464)");
    if (strspn(s->place, "0123456789") == strlen(s->place))
        return err_set(e, -EINVAL,
                       "openmetrics: '%s' is ambiguous (write ':%s' for a port, './%s' for a file)",
                       s->place, s->place, s->place);
    if (o->way == WAY_SERVER) {
        s->plan.deliver = NULL;
        s->way = OUTPUT_SCRAPED;
        return openmetrics_open_server(s, e);
    }
    if (!sink_options_has(&s->settings, "every"))
        s->plan.gather_ns = o->way == WAY_FILE ? NS_PER_SECOND : 5 * NS_PER_SECOND;
    s->grace_ns = max_u64(s->grace_ns, FILE_GRACE_NS);
    s->plan.first_at_once = o->way == WAY_NEWEST;
    if (o->way == WAY_FILE)
        return sink_open_file(s, s->place, e);
    struct replacement file; /* the directory has to accept files */
    int r = replacement_open(&file, s->place, REPLACEMENT_FOR_ALL, e);
    if (r == 0)
        replacement_close(&file);
    return r;
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
    SINK_OPTION(
        "every", "TIME", "",
        "time between writes: 1s by default, 5s for FILE.prom; a scrape always gets the newest",
        OPTION_DURATION),
    SINK_OPTION("queue", "SIZE", "16MiB",
                "size of the queue for a slow disk; when full, the oldest samples are dropped",
                OPTION_QUEUE),
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
