/* SPDX-License-Identifier: MIT */
#include "metric/selection.h"

static uint64_t matching(const char *globs, const char *prefix, enum entity_kind kind)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < metric_count(kind); i++)
        if (metric_matches(globs, prefix, metric_of(metric_first(kind) + i)))
            bits |= BIT(i);
    return bits;
}

int selection_parse(struct selection *ret, const char *globs, struct toll_error *e)
{
    int r = metric_check_globs(globs, e);
    if (r < 0)
        return r;
    for (unsigned part = 0; part < PARTS; part++)
        ret->parts[part] = matching(globs, part_prefix(part), ENTITY_TARGET);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        ret->of[kind] = matching(globs, entity_kind_name(kind), kind);
    ret->by_name = globs != NULL;
    return 0;
}

void selection_narrow(struct selection *s, const struct selection *other)
{
    for (unsigned part = 0; part < PARTS; part++)
        s->parts[part] &= other->parts[part];
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        s->of[kind] &= other->of[kind];
    s->by_name |= other->by_name;
}

static void write_names(struct buf *b, uint64_t bits, const char *prefix, enum entity_kind kind)
{
    FOR_EACH_BIT(i, bits)
    buf_printf(b, "%s%s_%s", b->length ? "," : "", prefix,
               metric_of(metric_first(kind) + i)->facts.name);
}

void selection_write(struct buf *b, const struct selection *s)
{
    for (unsigned part = 0; part < PARTS; part++)
        write_names(b, s->parts[part], part_prefix(part), ENTITY_TARGET);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        write_names(b, s->of[kind], entity_kind_name(kind), kind);
}

uint64_t selection_wanted(const struct selection *s)
{
    uint64_t wanted = s->of[ENTITY_PROCESS];
    for (unsigned part = 0; part < PARTS; part++)
        wanted |= s->parts[part];
    if (wanted & BIT(process_memory_distinct_bytes))
        wanted |= PROCESS_ROLLUP_BITS; /* of several processes it is made of these */
    return wanted;
}
