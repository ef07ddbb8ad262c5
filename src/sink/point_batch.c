/* SPDX-License-Identifier: MIT */
#include "sink/point_batch.h"

#include <string.h>

static void place(void *arg, int64_t time_ms, const struct point *point)
{
    struct point_batch *p = arg;
    if (p->count < p->capacity) {
        p->items[p->count] = (struct placed_point){point->series, p->count, time_ms, point->value};
        p->count++;
    }
}

int point_batch_take(struct point_batch *p, const struct batch *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        count += b->pieces[i].length / sizeof(struct point);
    p->count = 0;
    if (count > p->capacity) {
        struct placed_point *more = reallocarray(p->items, count, sizeof *more);
        if (!more)
            return -ENOMEM;
        p->items = more;
        p->capacity = count;
    }
    for (size_t i = 0; i < b->count; i++)
        if (b->pieces[i].of != PIECE_MARK) /* which has none */
            points_read(b->pieces[i].data, b->pieces[i].length, place, p);
    return 0;
}

static int by_series(const void *a, const void *b)
{
    const struct placed_point *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void point_batch_sort(struct point_batch *p)
{
    if (p->count)
        qsort(p->items, p->count, sizeof *p->items, by_series);
}

bool point_is_end(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits == POINTS_END_BITS;
}

void point_batch_done(struct point_batch *p)
{
    free(p->items);
    *p = (struct point_batch){0};
}
