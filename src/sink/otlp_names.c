/* SPDX-License-Identifier: MIT */
#include "sink/otlp_names.h"

#include "base/scan.h"
#include "metric/entity.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The attribute that tells apart what shares a name, by the end of that name. */
static const struct {
    const char *otel;
    const char *key;
} keys[] = {
    {"cpu.time", "cpu.mode"},
    {"usage", "state"},
    {"faults", "type"},
    {"_switches", "type"},
    {"gpu.utilization", "hw.gpu.task"},
    {"", "direction"},
};

/* How our words for it begin, and theirs where it is another one. */
static const struct {
    const char *ours, *theirs;
} words[] = {
    {"read", "read"},     {"writ", "write"},   {"rece", "receive"},
    {"sent", "transmit"}, {"util", "general"},
};

/* The name without its unit. */
static struct scan stem_of(const struct metric *m)
{
    struct scan s = scan_string(m->facts.name);
    size_t unit = strlen(m->facts.unit);
    if (unit && ends_with(m->facts.name, m->facts.unit))
        s.end -= unit + 1;
    return s;
}

static bool shares(const struct metric *a, const struct metric *b)
{
    return *a->facts.otel && strcmp(a->facts.otel, b->facts.otel) == 0;
}

/* Cuts whole words off the front of *s that the other stem begins with too. */
static void cut_common(struct scan *s, struct scan other)
{
    const char *c = s->at, *d = other.at, *cut = s->at;
    for (; c < s->end && d < other.end && *c == *d; c++, d++)
        if (*c == '_')
            cut = c + 1;
    bool ends_here = c == s->end && (d == other.end || *d == '_');
    bool ends_there = d == other.end && c < s->end && *c == '_';
    s->at = ends_here ? s->end : ends_there ? c + 1 : cut;
}

/* What tells it apart from all others that share its name; empty: it is their sum. */
static struct scan difference(enum entity_kind kind, const struct metric *m, unsigned *ret_others)
{
    struct scan shortest = stem_of(m);
    const char *begin = shortest.end;
    *ret_others = 0;
    for (unsigned i = 0; i < metric_count(kind); i++) {
        const struct metric *other = metric_of(metric_first(kind) + i);
        struct scan left = stem_of(m);
        if (other == m || !shares(m, other))
            continue;
        cut_common(&left, stem_of(other));
        if (left.at < begin || !*ret_others)
            begin = left.at;
        ++*ret_others;
    }
    return (struct scan){.at = begin, .end = shortest.end};
}

/* What is known of a metric here: found once, as it takes a look at all the others, and is asked
 * for of every point. */
static struct known {
    const struct metric *first; /* of those that are one there: itself, when no other is */
    bool has_their_name, has_attribute;
    struct otlp_attribute attribute;
} known[METRIC_COUNT];
static pthread_once_t known_once = PTHREAD_ONCE_INIT;

static struct known *entry_of(const struct metric *m)
{
    return &known[m - metric_of(0)];
}

static bool is_share_of_cpus(const struct metric *m)
{
    return m->unit == UNIT_cores && entry_of(m)->has_their_name &&
           ends_with(m->facts.otel, "utilization");
}

static const char *unit_of(const struct metric *m)
{
    switch (m->unit) {
    case UNIT_seconds: return "s";
    case UNIT_bytes: return "By";
    case UNIT_joules: return "J";
    case UNIT_hertz: return "Hz";
    case UNIT_cores: return is_share_of_cpus(m) ? "1" : "{cpu}";
    case UNIT_watts: return "W";
    case UNIT_celsius: return "Cel";
    case UNIT_count:
    case UNIT_ratio:
    case UNIT_number: return "1";
    }
    return "1";
}

/* Also of two entities: what all disks did, and what one did. */
static bool is_one(const struct metric *a, const struct metric *b)
{
    return entry_of(a)->has_their_name && entry_of(b)->has_their_name && shares(a, b) &&
           a->kind == b->kind && strcmp(unit_of(a), unit_of(b)) == 0;
}

static void set_attribute(struct otlp_attribute *a, const char *otel, struct scan value)
{
    size_t i = 0;
    while (*keys[i].otel && !ends_with(otel, keys[i].otel))
        i++;
    a->key = keys[i].key;
    snprintf(a->value, sizeof a->value, "%.*s", (int)(value.end - value.at), value.at);
    for (size_t k = 0; k < ARRAY_LEN(words); k++)
        if (strncmp(a->value, words[k].ours, strlen(words[k].ours)) == 0)
            snprintf(a->value, sizeof a->value, "%s", words[k].theirs);
}

static void learn_metric(enum entity_kind kind, enum metric_id id)
{
    const struct metric *m = metric_of(id);
    struct known *k = &known[id];
    unsigned others;
    struct scan value = difference(kind, m, &others);
    k->has_attribute = *m->facts.otel && others && !scan_done(&value);
    k->has_their_name = *m->facts.otel && (!others || k->has_attribute);
    if (k->has_attribute)
        set_attribute(&k->attribute, m->facts.otel, value);
    enum metric_id first = 0;
    while (first < id && !is_one(metric_of(first), m))
        first++;
    k->first = metric_of(first);
}

static void learn_all(void)
{
    for (enum entity_kind kind = 0; kind < ENTITY_KINDS; kind++)
        for (unsigned i = 0; i < metric_count(kind); i++)
            learn_metric(kind, metric_first(kind) + i);
}

static const struct known *known_of(const struct metric *m)
{
    pthread_once(&known_once, learn_all);
    return entry_of(m);
}

const struct otlp_attribute *otlp_attribute(const struct metric *m)
{
    const struct known *k = known_of(m);
    return k->has_attribute ? &k->attribute : NULL;
}

void otlp_name(struct buf *b, enum entity_kind kind, const struct metric *m)
{
    if (known_of(m)->has_their_name)
        buf_puts(b, m->facts.otel);
    else
        buf_printf(b, "toll.%s.%s",
                   kind == ENTITY_TARGET ? part_prefix(PART_COMBINED) : entity_kind_name(kind),
                   m->facts.name);
}

const struct metric *otlp_first(const struct metric *m)
{
    return known_of(m)->first;
}

const char *otlp_unit(const struct metric *m)
{
    pthread_once(&known_once, learn_all);
    return unit_of(m);
}

double otlp_divisor(const struct metric *m, unsigned cpus)
{
    pthread_once(&known_once, learn_all);
    return is_share_of_cpus(m) && cpus ? cpus : 1;
}
