/* SPDX-License-Identifier: MIT */
#include "summary/energy.h"

#include <string.h>

static const char *label_of(const struct entity *e, const char *key)
{
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        if (strcmp(e->labels[i].key, key) == 0)
            return e->labels[i].value;
    return NULL;
}

/* Its total, which is 0 where nothing was seen of it, and how good that is. */
static enum quality total_of(const struct thing_summary *t, enum metric_id id, double *ret)
{
    const struct series *s = &t->series[id - t->thing->row.first];
    enum quality quality = summary_thing_quality(s, metric_of(id));
    if (quality == QUALITY_UNKNOWN && s->observed_ns)
        quality = QUALITY_LOWER_BOUND;
    *ret = metric_number(metric_of(id), s->last);
    return quality;
}

/* Intel's GPUs inside of a processor stand at this address, and have no counter: they are part of
 * its package. */
static bool is_in_package(const struct entity *e)
{
    const char *vendor = label_of(e, "vendor"), *pci = label_of(e, "pci");
    return vendor && pci && strcmp(vendor, "intel") == 0 && strcmp(pci, "0000:00:02.0") == 0;
}

static void add_gpu(struct energy *e, const struct thing_summary *t)
{
    double joules;
    if (label_of(&t->thing->entity, "instance"))
        return; /* the whole board has the counter */
    if (is_in_package(&t->thing->entity))
        return;
    if (!e->has_gpus)
        e->gpus_quality = QUALITY_EXACT;
    e->has_gpus = true;
    enum quality quality = total_of(t, gpu_energy_joules, &joules);
    if (quality < e->gpus_quality)
        e->gpus_quality = quality;
    e->gpus_joules += joules;
}

/* Cores and the like are parts of a package; other memory than the package's is not meant. */
static void add_processor(struct energy *e, const struct thing_summary *t)
{
    double joules;
    if (strncmp(entity_name(&t->thing->entity), "package-", 8) != 0 ||
        strchr(entity_name(&t->thing->entity), ' ') ||
        total_of(t, rapl_energy_joules, &joules) == QUALITY_UNKNOWN)
        return;
    e->knows_processors = true;
    e->processors_joules += joules;
}

struct energy energy_of(const struct summary *s)
{
    struct energy e = {0};
    if (s->energy)
        return *s->energy;
    for (size_t i = 0; i < s->thing_count; i++) {
        if (s->things[i].thing->entity.kind == ENTITY_GPU)
            add_gpu(&e, &s->things[i]);
        if (s->things[i].thing->entity.kind == ENTITY_RAPL)
            add_processor(&e, &s->things[i]);
    }
    if ((s->run && s->run->gpus_awaited) ||
        (e.gpus_quality == QUALITY_LOWER_BOUND && e.gpus_joules <= 0)) /* at least nothing */
        e.gpus_quality = QUALITY_UNKNOWN;
    e.knows_gpus = e.gpus_quality != QUALITY_UNKNOWN;
    return e;
}
