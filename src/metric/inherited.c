/* SPDX-License-Identifier: MIT */
#include "metric/inherited.h"

/* The place of each conserved metric: how many stand before it in the table. */
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
