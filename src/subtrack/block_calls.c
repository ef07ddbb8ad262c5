/* SPDX-License-Identifier: MIT */
#include "subtrack/block_calls.h"

#include "base/err.h"
#include "dialect/python_number.h"
#include "subtrack/block_rows.h"

#include <math.h>
#include <string.h>

/* One row of the file. */
struct stamp {
    int64_t pid;
    uint64_t number; /* of the row */
    char *name;      /* owned */
    double time;
    bool is_stop;
};

struct stamps {
    struct stamp *list;
    size_t count, capacity;
};

static void stamps_done(struct stamps *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].name);
    free(s->list);
}

void blocks_done(struct blocks *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->list[i].name);
        free(b->list[i].calls);
        free(b->list[i].spans);
    }
    free(b->list);
    *b = (struct blocks){0};
}

static bool grow(void **list, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *longer = realloc(*list, more * size);
    if (!longer)
        return false;
    *list = longer;
    *capacity = more;
    return true;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int keep(struct stamps *s, const struct block_stamp *row)
{
    struct stamp stamp = {row->pid, row->number, strdup(row->name), row->time, row->is_stop};
    if (!stamp.name || !grow((void **)&s->list, s->count, &s->capacity, sizeof stamp)) {
        free(stamp.name);
        return -ENOMEM;
    }
    s->list[s->count++] = stamp;
    return 0;
}

static int read_stamps(struct stamps *ret, const char *path, struct toll_error *e)
{
    struct block_rows *rows;
    struct block_stamp row;
    int r = block_rows_open(&rows, path, e);
    if (r < 0)
        return r;
    while ((r = block_rows_next(rows, &row, e)) > 0)
        if (keep(ret, &row) < 0) {
            r = err_set(e, -ENOMEM, "%s: no memory", path);
            break;
        }
    block_rows_close(rows);
    return r;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What was logged at the same moment stands in the order in which it was logged. */
static int by_name_and_process(const void *a, const void *b)
{
    const struct stamp *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    if (names)
        return names;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static int by_start(const void *a, const void *b)
{
    const struct block_call *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* A stop without a start, in the words of gpu_tracker, which pairs it with the row after it; where
 * that tool would find nothing wrong, or fail without a word, in ours. */
static int stray_stop(const struct stamp *s, const struct stamp *next, struct toll_error *e)
{
    struct buf pair = {0};
    python_float(&pair, s->time);
    if (next) {
        buf_puts(&pair, ", ");
        python_float(&pair, next->time);
    }
    const char *times = pair.data ? pair.data : "?";
    int r;
    if (next && next->pid != s->pid)
        r = err_set(e, -EBADMSG,
                    "Sub-tracking file is invalid. Detected timestamp pair (%s) with differing "
                    "process IDs: %lld and %lld.",
                    times, (long long)s->pid, (long long)next->pid);
    else if (next && !next->is_stop)
        r = err_set(e, -EBADMSG,
                    "Sub-tracking file is invalid. Detected timestamp pair (%s) of process ID %lld "
                    "with a start time greater than the stop time.",
                    times, (long long)s->pid);
    else
        r = err_set(e, -EBADMSG,
                    "Sub-tracking file is invalid. Row %llu stops \"%.200s\" of process ID %lld, "
                    "which had not started.",
                    (unsigned long long)s->number, s->name, (long long)s->pid);
    buf_done(&pair);
    return r;
}

/* The stamps of one block, by process: a stop belongs to the last start that is open. The starts
 * that are open stand at the front of a list of their own. */
static int pair(struct block *b, const struct stamp *s, size_t count, const char *path,
                struct toll_error *e)
{
    double *open = calloc(count, sizeof *open);
    size_t depth = 0;
    int r = 0;
    b->calls = calloc(count, sizeof *b->calls);
    if (!open || !b->calls)
        r = err_set(e, -ENOMEM, "%s: no memory", path);
    for (size_t i = 0; i < count && r == 0; i++) {
        if (i && s[i].pid != s[i - 1].pid)
            depth = 0;
        if (!s[i].is_stop)
            open[depth++] = s[i].time;
        else if (depth)
            b->calls[b->call_count++] = (struct block_call){open[--depth], s[i].time};
        else
            r = stray_stop(&s[i], i + 1 < count ? &s[i + 1] : NULL, e);
    }
    free(open);
    return r;
}

static bool merge_spans(struct block *b)
{
    b->spans = calloc(b->call_count + 1, sizeof *b->spans);
    if (!b->spans)
        return false;
    memcpy(b->spans, b->calls, b->call_count * sizeof *b->spans);
    qsort(b->spans, b->call_count, sizeof *b->spans, by_start);
    for (size_t i = 0; i < b->call_count; i++) {
        struct block_call *last = b->span_count ? &b->spans[b->span_count - 1] : NULL;
        if (!last || b->spans[i].start > last->stop)
            b->spans[b->span_count++] = b->spans[i];
        else if (b->spans[i].stop > last->stop)
            last->stop = b->spans[i].stop;
    }
    return true;
}

double block_since(const struct block *b, double time)
{
    size_t low = 0, high = b->span_count;
    while (low < high) { /* the first span that begins later */
        size_t middle = low + (high - low) / 2;
        if (b->spans[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    const struct block_call *span = low ? &b->spans[low - 1] : NULL;
    return span && time <= span->stop ? time - span->start : (double)NAN;
}

static int make_blocks(struct blocks *ret, const struct stamps *s, const char *path,
                       struct toll_error *e)
{
    size_t capacity = 0;
    int r = 0;
    for (size_t i = 0, next; i < s->count && r == 0; i = next) {
        for (next = i + 1; next < s->count && strcmp(s->list[next].name, s->list[i].name) == 0;)
            next++;
        if (!grow((void **)&ret->list, ret->count, &capacity, sizeof *ret->list))
            return err_set(e, -ENOMEM, "%s: no memory", path);
        struct block *b = &ret->list[ret->count++];
        *b = (struct block){.name = strdup(s->list[i].name)};
        r = pair(b, s->list + i, next - i, path, e);
        if (r == 0 && (!b->name || !merge_spans(b)))
            r = err_set(e, -ENOMEM, "%s: no memory", path);
    }
    return r;
}

int blocks_read(struct blocks *ret, const char *path, struct toll_error *e)
{
    struct stamps s = {0};
    *ret = (struct blocks){0};
    int r = read_stamps(&s, path, e);
    if (r == 0 && s.count)
        qsort(s.list, s.count, sizeof *s.list, by_name_and_process);
    if (r == 0)
        r = make_blocks(ret, &s, path, e);
    stamps_done(&s);
    if (r < 0)
        blocks_done(ret);
    return r;
}
