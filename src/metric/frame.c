/* SPDX-License-Identifier: MIT */
#include "metric/frame.h"

void row_init(struct row *r, enum entity_kind kind)
{
    r->present = r->at_least = 0;
    r->first = metric_first(kind);
}

void row_add(struct row *sum, const struct row *r, uint64_t mask)
{
    FOR_EACH_BIT(i, mask & r->present)
    {
        enum metric_id id = r->first + (enum metric_id)i;
        if (metric_is_double(metric_of(id)))
            row_put_double(sum, id,
                           (row_has(sum, id) ? row_value(sum, id).d : 0) + row_value(r, id).d);
        else
            row_put_u64(sum, id, row_u64(sum, id) + row_u64(r, id));
    }
}

void measured_init(struct measured *m, enum entity_kind kind)
{
    *m = (struct measured){.entity = {.kind = kind}};
    row_init(&m->read, kind);
    row_init(&m->row, kind);
    row_init(&m->base, kind);
}

int measured_list_add(struct measured_list *l, struct measured *m)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        struct measured **items = realloc(l->items, capacity * sizeof *items);
        if (!items)
            return -ENOMEM;
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->count++] = m;
    return 0;
}

void measured_list_done(struct measured_list *l)
{
    free(l->items);
    *l = (struct measured_list){0};
}

void frame_begin(struct frame *f)
{
    arena_empty(&f->arena);
    f->processes = NULL;
    f->process_count = 0;
    f->last = false;
}

void frame_done(struct frame *f)
{
    arena_done(&f->arena);
}
