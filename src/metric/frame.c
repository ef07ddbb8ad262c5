/* SPDX-License-Identifier: MIT */
#include "metric/frame.h"

/* ==== Inherited =============================================================================== */

/* The place of each conserved metric: how many come before it in the table. */
#define IF_CONSERVED(id) place_of_##id,
#define IF_SUM(id)
#define IF_MAX(id)
#define IF_ONCE(id)
#define IF_KEPT(id)
#define IF_WHOLE(id)
#define IF_RATE(id)
#define IF_NONE(id)
enum {
#define METRIC(entity, stem, kind, unit, fold, ...) IF_##fold(entity##_##stem##_##unit)
#include "metric/metrics.def"
    PLACES
};

_Static_assert((int)PLACES == (int)INHERITED_METRICS, "as many as there are conserved metrics");

#undef IF_CONSERVED
#define IF_CONSERVED(id) [id] = place_of_##id,
static const unsigned char places[PROCESS_METRICS] = {
#define METRIC(entity, stem, kind, unit, fold, ...) IF_##fold(entity##_##stem##_##unit)
#include "metric/metrics.def"
};

void inherited_put(struct inherited *i, enum metric_id id, uint64_t value)
{
    i->values[places[id]] = value;
    i->present |= BIT(id);
}

uint64_t inherited_u64(const struct inherited *i, enum metric_id id)
{
    return inherited_has(i, id) ? i->values[places[id]] : 0;
}

void inherited_add(struct row *sum, const struct inherited *i)
{
    FOR_EACH_BIT(id, i->present)
    row_put_u64(sum, id, row_u64(sum, id) + inherited_u64(i, id));
}

/* ==== Frame =================================================================================== */

void row_init(struct row *r, enum entity_kind kind)
{
    r->present = r->at_least = 0;
    r->first = metric_first(kind);
}

/* The process metrics that are held as doubles, as bits. */
#define METRIC(entity, stem, kind, unit, ...)                                                      \
    | ((int)entity##_##stem##_##unit < (int)PROCESS_METRICS && UNIT_##unit >= UNIT_cores           \
           ? BIT((unsigned)entity##_##stem##_##unit % METRICS_PER_ENTITY)                          \
           : 0)
static const uint64_t process_doubles = 0
#include "metric/metrics.def"
    ;

void row_add(struct row *sum, const struct row *r, uint64_t mask)
{
    FOR_EACH_BIT(id, mask & r->present & ~process_doubles)
    row_put_u64(sum, id, row_u64(sum, id) + r->values[id].u);
    FOR_EACH_BIT(id, mask & r->present & process_doubles)
    row_put_double(sum, id, (row_has(sum, id) ? row_value(sum, id).d : 0) + r->values[id].d);
}

void instance_init(struct instance *m, enum entity_kind kind)
{
    *m = (struct instance){.entity = {.kind = kind}};
    row_init(&m->read, kind);
    row_init(&m->row, kind);
    row_init(&m->base, kind);
}

int instance_list_add(struct instance_list *l, struct instance *m)
{
    if (!ARRAY_RESERVE(l->items, l->capacity, l->count + 1))
        return -ENOMEM;
    l->items[l->count++] = m;
    return 0;
}

void instance_list_done(struct instance_list *l)
{
    free(l->items);
    *l = (struct instance_list){0};
}

void frame_begin(struct frame *f)
{
    arena_empty(&f->arena);
    f->processes = NULL;
    f->process_count = 0;
    f->last = f->is_brief = false;
}

void frame_done(struct frame *f)
{
    arena_done(&f->arena);
}
