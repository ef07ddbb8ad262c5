/* SPDX-License-Identifier: MIT */
#include "sink/om_file.h"

#include "base/file.h"
#include "base/output_file.h"
#include "base/stream.h"
#include "sink/exposition.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { READER_WAIT_MS = 1000 };
enum { POINTS_AT_ONCE = 4 * 1024 * 1024, FLUSH_BYTES = 64 * 1024 };

/* In the same directory: that is where there is room. */
static int open_unnamed(const char *path)
{
    char *directory = strdup(path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    if (slash)
        slash[slash == directory] = '\0';
    int fd = directory ? open(slash ? directory : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    free(directory);
    return fd;
}

void om_file_init(struct om_file *f, struct points *points, int fd, const char *path)
{
    struct stat st;
    bool is_regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    *f = (struct om_file){
        .points = points, .fd = fd, .path = is_regular ? path : NULL, .is_regular = is_regular};
    f->spool = f->path ? open_unnamed(path) : -1;
}

void om_file_done(struct om_file *f)
{
    if (f->points)
        close_p(&f->spool);
    free(f->counts);
    buf_done(&f->text);
    *f = (struct om_file){.spool = -1};
}

/* ---- As they come ---------------------------------------------------------------------------- */

static void write_line(struct buf *b, const struct point_row *row, const struct metric *m,
                       int64_t time_ms, double value)
{
    exposition_series(b, row, m);
    exposition_number(b, value);
    buf_putc(b, ' ');
    buf_fixed(b, (uint64_t)time_ms, 3);
    buf_putc(b, '\n');
}

static void add_line(void *arg, int64_t time_ms, const struct point *point)
{
    struct om_file *f = arg;
    const struct metric *m;
    const struct point_row *row = points_series(f->points, point->series, &m);
    uint64_t bit = BIT(point->series % METRICS_PER_ENTITY);
    if (!(f->families[row->kind] & bit))
        exposition_family(&f->text, row->kind, m, EXPOSITION_OPENMETRICS);
    f->families[row->kind] |= bit;
    write_line(&f->text, row, m, time_ms, point->value);
}

static void count(void *arg, int64_t time_ms, const struct point *point)
{
    struct om_file *f = arg;
    if (point->series >= f->series_count) {
        size_t more = max_u64(point->series + METRICS_PER_ENTITY, f->series_count * 2);
        uint64_t *longer = reallocarray(f->counts, more, sizeof *longer);
        if (!longer) {
            close_p(&f->spool); /* then they stay as they came */
            return;
        }
        memset(longer + f->series_count, 0, (more - f->series_count) * sizeof *longer);
        f->counts = longer;
        f->series_count = more;
    }
    f->counts[point->series]++;
}

/* The sender's thread has time for a slow reader; after one that took half of it and no more,
 * nothing can follow. */
static int write_to_pipe(struct om_file *f)
{
    struct stream out;
    if (f->is_cut)
        return -EAGAIN;
    stream_open(&out, f->fd);
    int r = stream_write_patiently(&out, f->text.data, f->text.length, READER_WAIT_MS);
    stream_close(&out);
    f->is_cut = r == -EAGAIN;
    f->bytes += r == 0 ? f->text.length : 0;
    return r;
}

/* A full disk may take half of it: cut it off again. */
static int write_text(struct om_file *f)
{
    size_t half = 0;
    struct stat st;
    if (buf_failed(&f->text))
        return -ENOMEM;
    if (!f->is_regular)
        return write_to_pipe(f);
    int r = file_write_quietly(f->fd, f->text.data, f->text.length, &half);
    if (r < 0 && half && f->path && fstat(f->fd, &st) == 0 &&
        ftruncate(f->fd, st.st_size - (off_t)half) < 0)
        return -errno;
    f->bytes += r == 0 ? f->text.length : 0;
    return r;
}

int om_file_add(struct om_file *f, const char *piece, size_t length)
{
    uint64_t described[ARRAY_LEN(f->families)];
    memcpy(described, f->families, sizeof described);
    buf_clear(&f->text);
    points_read(piece, length, add_line, f);
    int r = write_text(f);
    buf_clear(&f->text);
    if (r < 0) {
        memcpy(f->families, described, sizeof described);
        return r;
    }
    if (f->spool >= 0 && file_write_quietly(f->spool, piece, length, NULL) < 0)
        close_p(&f->spool);
    if (f->spool >= 0)
        points_read(piece, length, count, f);
    return 0;
}

/* ---- In order -------------------------------------------------------------------------------- */

struct moment {
    int64_t time_ms;
    double value;
};

struct ordering {
    struct om_file *f;
    size_t *series; /* owned: their numbers, by family */
    size_t series_count;
    uint64_t *next;          /* owned, by number: where the next moment goes; UINT64_MAX: not now */
    struct moment *moments;  /* owned */
    uint64_t room, expected; /* how many fit, and how many there should be */
    struct buf text;
    int fd;
    int failure;
    const struct metric *family; /* that was described last … */
    enum entity_kind kind;       /* … and whose */
};

static int by_family(const void *a, const void *b, void *points)
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

static int prepare(struct ordering *o)
{
    struct om_file *f = o->f;
    o->series = calloc(f->series_count + 1, sizeof *o->series);
    o->next = calloc(f->series_count + 1, sizeof *o->next);
    if (!o->series || !o->next)
        return -ENOMEM;
    for (size_t i = 0; i < f->series_count; i++)
        if (f->counts[i])
            o->series[o->series_count++] = i;
    qsort_r(o->series, o->series_count, sizeof *o->series, by_family, f->points);
    return 0;
}

static void gather(void *arg, int64_t time_ms, const struct point *point)
{
    struct ordering *o = arg;
    uint64_t *at = &o->next[point->series];
    if (*at < o->expected)
        o->moments[(*at)++] = (struct moment){time_ms, point->value};
}

/* All pieces of the spool, one after the other. */
static int read_spool(struct ordering *o)
{
    struct buf piece = {0};
    struct points_head head;
    size_t room;
    off_t at = 0;
    int r = 0;
    for (ssize_t n; r == 0 && (n = pread(o->f->spool, &head, sizeof head, at)) != 0;) {
        size_t length = sizeof head + head.count * sizeof(struct point);
        buf_clear(&piece);
        char *into = n == sizeof head ? buf_room(&piece, length, &room) : NULL;
        if (!into || pread(o->f->spool, into, length, at) != (ssize_t)length)
            r = -EIO;
        else
            points_read(into, length, gather, o);
        at += (off_t)length;
    }
    buf_done(&piece);
    return r;
}

static void flush(struct ordering *o)
{
    if (o->failure == 0)
        o->failure = buf_failed(&o->text)
                         ? -ENOMEM
                         : file_write_quietly(o->fd, o->text.data, o->text.length, NULL);
    buf_clear(&o->text);
}

static void write_series(struct ordering *o, size_t series, const struct moment *moments)
{
    const struct metric *m;
    const struct point_row *row = points_series(o->f->points, series, &m);
    if (m != o->family || row->kind != o->kind)
        exposition_family(&o->text, row->kind, m, EXPOSITION_OPENMETRICS);
    o->family = m;
    o->kind = row->kind;
    for (uint64_t i = 0; i < o->f->counts[series]; i++) {
        write_line(&o->text, row, m, moments[i].time_ms, moments[i].value);
        if (o->text.length > FLUSH_BYTES)
            flush(o);
    }
}

/* As many series as memory allows, from the first on; how many. */
static size_t write_some(struct ordering *o, size_t first)
{
    const uint64_t *counts = o->f->counts;
    size_t behind = first;
    o->expected = 0;
    memset(o->next, 0xFF, o->f->series_count * sizeof *o->next);
    while (behind < o->series_count &&
           (behind == first || o->expected + counts[o->series[behind]] <= o->room)) {
        o->next[o->series[behind]] = o->expected;
        o->expected += counts[o->series[behind++]];
    }
    struct moment *more = reallocarray(o->moments, o->expected, sizeof *more);
    if (!more) {
        o->failure = -ENOMEM;
        return 0;
    }
    o->moments = more;
    o->failure = read_spool(o);
    uint64_t at = 0;
    for (size_t i = first; i < behind && o->failure == 0; i++) {
        write_series(o, o->series[i], o->moments + at);
        at += counts[o->series[i]];
    }
    return behind - first;
}

static int write_in_order(struct ordering *o)
{
    int r = prepare(o);
    for (size_t at = 0; r == 0 && at < o->series_count; r = o->failure)
        at += write_some(o, at);
    if (r < 0)
        return r;
    buf_puts(&o->text, "# EOF\n");
    flush(o);
    return o->failure;
}

/* Where something else has the name by now, what was written stays as it is. */
static int replace(struct ordering *o)
{
    struct om_file *f = o->f;
    struct replacement file;
    struct stat st;
    int r = replacement_open(&file, f->path, 0, NULL);
    if (r < 0)
        return r;
    o->fd = file.fd;
    r = file.is_file ? write_in_order(o) : -EINVAL;
    if (r == 0)
        r = replacement_commit(&file);
    if (r == 0 && fstat(file.fd, &st) == 0)
        f->bytes = (uint64_t)st.st_size;
    replacement_close(&file);
    return r;
}

int om_file_finish(struct om_file *f)
{
    struct ordering o = {
        .f = f, .room = f->points_at_once ? f->points_at_once : POINTS_AT_ONCE, .fd = -1};
    int r = f->spool >= 0 ? replace(&o) : -EINVAL;
    free(o.series);
    free(o.next);
    free(o.moments);
    buf_done(&o.text);
    if (r == 0)
        return 0;
    buf_clear(&f->text);
    buf_puts(&f->text, "# EOF\n");
    return write_text(f);
}
