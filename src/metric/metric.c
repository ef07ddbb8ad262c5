/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "base/err.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ==== Selection =============================================================================== */

static uint64_t selection_matching(const char *globs, const char *prefix, enum entity_kind kind)
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
        ret->parts[part] = selection_matching(globs, part_prefix(part), ENTITY_TARGET);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        ret->of[kind] = selection_matching(globs, entity_kind_name(kind), kind);
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

static void selection_write_names(struct buf *b, uint64_t bits, const char *prefix,
                                  enum entity_kind kind)
{
    FOR_EACH_BIT(i, bits)
    buf_printf(b, "%s%s_%s", b->length ? "," : "", prefix,
               metric_of(metric_first(kind) + i)->facts.name);
}

void selection_write(struct buf *b, const struct selection *s)
{
    for (unsigned part = 0; part < PARTS; part++)
        selection_write_names(b, s->parts[part], part_prefix(part), ENTITY_TARGET);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        selection_write_names(b, s->of[kind], entity_kind_name(kind), kind);
}

uint64_t selection_wanted(const struct selection *s)
{
    uint64_t wanted = s->of[ENTITY_PROCESS];
    for (unsigned part = 0; part < PARTS; part++)
        wanted |= s->parts[part];
    if (wanted & BIT(process_memory_distinct_bytes))
        wanted |= PROCESS_ROLLUP_BITS; /* the sum over several processes is made of these */
    return wanted;
}

/* ==== Column ================================================================================== */

enum { COLUMN_PARTS = 5 };

/* The parts of what comes before the metric's name, NULL-terminated. */
static void column_split(enum entity_kind kind, enum part part, const char *name,
                         const char *parts[COLUMN_PARTS + 1])
{
    size_t n = 0;
    bool is_one = kind == ENTITY_SYSTEM || kind == ENTITY_SELF;
    if (kind == ENTITY_TARGET && name) {
        parts[n++] = "target.";
        parts[n++] = name;
        parts[n++] = ".";
        if (part != PART_COMBINED) {
            parts[n++] = part_prefix(part);
            parts[n++] = "_";
        }
    } else {
        parts[n++] = kind == ENTITY_TARGET ? part_prefix(part) : entity_kind_name(kind);
        parts[n++] = kind == ENTITY_TARGET || is_one ? "_" : ".";
        if (kind != ENTITY_TARGET && !is_one) {
            parts[n++] = name;
            parts[n++] = ".";
        }
    }
    parts[n] = NULL;
}

void column_lead(struct buf *b, enum entity_kind kind, enum part part, const char *name)
{
    const char *parts[COLUMN_PARTS + 1];
    column_split(kind, part, name, parts);
    for (const char **at = parts; *at; at++)
        buf_puts(b, *at);
}

int column_metric(enum entity_kind kind, enum part part, const char *name, const char *column)
{
    const char *parts[COLUMN_PARTS + 1];
    column_split(kind, part, name, parts);
    for (const char **at = parts; *at; at++) {
        size_t length = strlen(*at);
        if (strncmp(column, *at, length) != 0)
            return -ENOENT;
        column += length;
    }
    enum metric_id first = metric_first(kind);
    for (unsigned i = 0; i < metric_count(kind); i++)
        if (strcmp(metric_of(first + i)->facts.name, column) == 0)
            return (int)(first + i);
    return -ENOENT;
}

bool column_exists(const char *column)
{
    const char *first = strchr(column, '.'), *last = strrchr(column, '.');
    CLEANUP_FREE char *name = first != last ? strndup(first + 1, (size_t)(last - first - 1)) : NULL;
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++) {
        bool has_name = kind != ENTITY_TARGET && kind != ENTITY_SYSTEM && kind != ENTITY_SELF;
        if (kind == ENTITY_PROCESS || (has_name && !name))
            continue;
        for (unsigned part = 0; part < (kind == ENTITY_TARGET ? (unsigned)PARTS : 1); part++)
            if (column_metric(kind, part, name, column) >= 0)
                return true;
    }
    return false;
}

/* ==== Quality ================================================================================= */

const char *quality_word(enum quality q)
{
    static const char *const words[QUALITIES] = {"unknown", "lower bound", "sampled",
                                                 "exact if reaped", "exact"};
    return words[q];
}

/* ==== Entity ================================================================================== */

const char *part_name(enum part part)
{
    static const char *const names[PARTS] = {"combined", "main", "descendants"};
    return names[part];
}

const char *part_prefix(enum part part)
{
    static const char *const prefixes[PARTS] = {"target", "main", "descendants"};
    return prefixes[part];
}

const char *entity_label(const struct entity *e, const char *key)
{
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        if (strcmp(e->labels[i].key, key) == 0)
            return e->labels[i].value;
    return NULL;
}

/* The digits at the end of letters; false of "nvidia3:1". */
static bool gpu_scan_number(const char *name, uint64_t *ret)
{
    struct scan s = scan_string(name ? name : "");
    while (!scan_done(&s) && (*s.at < '0' || *s.at > '9') && *s.at != ':')
        s.at++;
    return scan_u64(&s, ret) && scan_done(&s);
}

size_t gpu_number(const void *of,
                  const char *(*name)(const void *of, enum entity_kind kind, size_t place),
                  size_t count, size_t place)
{
    uint64_t number = place, one, other;
    for (size_t i = 0; i < count; i++) {
        if (!gpu_scan_number(name(of, ENTITY_GPU, i), &one))
            return place;
        for (size_t k = 0; k < i; k++)
            if (!gpu_scan_number(name(of, ENTITY_GPU, k), &other) || other == one)
                return place;
        number = i == place ? one : number;
    }
    return (size_t)number;
}

const char *entity_name(const struct entity *e)
{
    return e->path ? e->path : e->name;
}

enum space_kind entity_space(const struct entity *e)
{
    static const struct {
        const char *class;
        enum space_kind space;
    } classes[] = {{"local", SPACE_LOCAL}, {"network", SPACE_NETWORK}, {"overlay", SPACE_OVERLAY}};
    for (size_t l = 0; e->kind == ENTITY_MOUNT && l < ENTITY_LABELS; l++)
        for (size_t i = 0; i < ARRAY_LEN(classes); i++)
            if (e->labels[l].key && strcmp(e->labels[l].key, "class") == 0 &&
                strcmp(e->labels[l].value, classes[i].class) == 0)
                return classes[i].space;
    return SPACE_NONE;
}

/* ==== Metric ================================================================================== */

#define UNIT_SUFFIX_seconds "_seconds"
#define UNIT_SUFFIX_bytes   "_bytes"
#define UNIT_SUFFIX_cores   "_cores"
#define UNIT_SUFFIX_ratio   "_ratio"
#define UNIT_SUFFIX_count   ""
#define UNIT_SUFFIX_number  ""
#define UNIT_SUFFIX_joules  "_joules"
#define UNIT_SUFFIX_watts   "_watts"
#define UNIT_SUFFIX_celsius "_celsius"
#define UNIT_SUFFIX_hertz   "_hertz"

#define KIND_WORD_COUNTER   "counter"
#define KIND_WORD_GAUGE     "gauge"
#define FOLD_WORD_SUM       "sum"
#define FOLD_WORD_MAX       "max"
#define FOLD_WORD_ONCE      "once"
#define FOLD_WORD_CONSERVED "conserved"
#define FOLD_WORD_KEPT      "kept"
#define FOLD_WORD_WHOLE     "whole"
#define FOLD_WORD_RATE      "rate"
#define FOLD_WORD_NONE      "none"
#define COST_WORD_CHEAP     "cheap"
#define COST_WORD_OFTEN     "often"
#define COST_WORD_REFRESH   "refresh"
#define COST_WORD_SLOW      "slow"

const struct metric metric_table[METRIC_COUNT] = {
#define METRIC(entity_, stem, kind_, unit_, fold_, cost_, show_, line_, source_, otel_, title_,    \
               help_)                                                                              \
    [entity_##_##stem##_##unit_] = {                                                               \
        .kind = METRIC_##kind_,                                                                    \
        .unit = UNIT_##unit_,                                                                      \
        .fold = FOLD_##fold_,                                                                      \
        .cost = COST_##cost_,                                                                      \
        .show = SHOW_##show_,                                                                      \
        .line = line_,                                                                             \
        .facts = {.entity = #entity_,                                                              \
                  .name = #stem UNIT_SUFFIX_##unit_,                                               \
                  .title = title_,                                                                 \
                  .kind = KIND_WORD_##kind_,                                                       \
                  .unit = &UNIT_SUFFIX_##unit_[sizeof UNIT_SUFFIX_##unit_ > 1],                    \
                  .fold = FOLD_WORD_##fold_,                                                       \
                  .cost = COST_WORD_##cost_,                                                       \
                  .source = source_,                                                               \
                  .otel = otel_,                                                                   \
                  .help = help_},                                                                  \
    },
#include "metric/metrics.def"
};

const unsigned short metric_firsts[ENTITY_KINDS + 1] = {
#define ENTITY(kind, name, ...) [ENTITY_##kind] = name##_first,
#include "metric/metrics.def"
    [ENTITY_KINDS] = METRIC_COUNT,
};

static const struct {
    const char *name;
    const char *plural;
} kinds[ENTITY_KINDS] = {
#define ENTITY(kind, name_, plural_, ...) [ENTITY_##kind] = {#name_, plural_},
#include "metric/metrics.def"
};

_Static_assert(SYSTEM_METRICS <= METRICS_PER_ENTITY, "a presence mask has 64 bits");
_Static_assert(SYSTEM_METRICS >= PROCESS_METRICS, "a row has room for the largest entity");

uint64_t metric_fold_mask(enum metric_fold fold)
{
    uint64_t mask = 0;
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (metric_table[id].fold == fold)
            mask |= BIT(id);
    return mask;
}

uint64_t metric_cost_mask(enum metric_cost cost)
{
    uint64_t mask = 0;
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (metric_table[id].cost == cost)
            mask |= BIT(id);
    return mask;
}

const char *entity_kind_name(enum entity_kind kind)
{
    return kind == ENTITY_TARGET ? "target" : kinds[kind].name;
}

const char *entity_kind_plural(enum entity_kind kind)
{
    return kind == ENTITY_TARGET ? "targets" : kinds[kind].plural;
}

void metric_write(struct buf *b, const struct metric *m, union value v)
{
    if (metric_is_double(m))
        buf_double(b, v.d, METRIC_DECIMALS);
    else if (m->unit == UNIT_seconds)
        buf_seconds(b, v.u);
    else if (m->unit == UNIT_joules)
        buf_double(b, (double)v.u / 1e6, METRIC_DECIMALS);
    else
        buf_u64(b, v.u);
}

double metric_recorded(const struct metric *m, union value v)
{
    return metric_is_double(m) ? buf_double_again(v.d, METRIC_DECIMALS) : metric_number(m, v);
}

enum { NAME_MAX_LENGTH = 96 };

/* Cuts the next glob off the list; false at its end. */
static bool metric_next_glob(const char **globs, char ret[NAME_MAX_LENGTH])
{
    while (**globs == ',' || **globs == ' ')
        (*globs)++;
    size_t length = strcspn(*globs, ", ");
    if (!length)
        return false;
    size_t kept = length < NAME_MAX_LENGTH - 1 ? length : NAME_MAX_LENGTH - 1;
    memcpy(ret, *globs, kept);
    ret[kept] = '\0';
    *globs += length;
    return true;
}

static bool metric_glob_matches(const char *glob, const char *prefix, const struct metric *m)
{
    if (strcmp(glob, "basic") == 0)
        return metric_matches(TOLL_METRICS_BASIC, prefix, m);
    char name[NAME_MAX_LENGTH];
    size_t lead = strlen(prefix);
    size_t tail = strlen(m->facts.name);
    if (lead + 1 + tail >= sizeof name)
        return false;
    memcpy(name, prefix, lead);
    name[lead] = '_';
    memcpy(name + lead + 1, m->facts.name, tail + 1);
    return fnmatch(glob, name, 0) == 0 || fnmatch(glob, name + lead + 1, 0) == 0;
}

bool metric_matches(const char *globs, const char *prefix, const struct metric *m)
{
    if (!globs)
        return true;
    char glob[NAME_MAX_LENGTH];
    while (metric_next_glob(&globs, glob))
        if (metric_glob_matches(glob, prefix, m))
            return true;
    return false;
}

static bool metric_glob_matches_any(const char *glob)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct metric *m = &metric_table[id];
        if (metric_glob_matches(glob, m->facts.entity, m))
            return true;
        for (unsigned part = 0; id < PROCESS_METRICS && part < PARTS; part++)
            if (metric_glob_matches(glob, part_prefix(part), m))
                return true;
    }
    return false;
}

/* The nearest name, with the prefix of a part where that is nearer. A word that is near to the
 * first of several names stands for all of them: "memry" for "memory_*". */
static void metric_suggest(const char *typed, struct suggestion *ret)
{
    suggestion_begin(ret, typed);
    if (!strpbrk(typed, "_*?["))
        for (unsigned id = 0; id < METRIC_COUNT; id++) {
            char stem[NAME_MAX_LENGTH];
            size_t length = strcspn(metric_table[id].facts.name, "_");
            snprintf(stem, sizeof stem, "%.*s", (int)length, metric_table[id].facts.name);
            suggestion_offer(ret, stem);
            suggestion_offer(ret, metric_table[id].facts.entity);
        }
    if (*ret->word && !metric_glob_matches_any(ret->word))
        snprintf(ret->word + strlen(ret->word), sizeof ret->word - strlen(ret->word), "_*");
    for (unsigned id = 0; id < METRIC_COUNT; id++)
        suggestion_offer(ret, metric_table[id].facts.name);
    for (unsigned id = 0; id < METRIC_COUNT; id++) { /* typed without its unit */
        const char *name = metric_table[id].facts.name, *unit = metric_table[id].facts.unit;
        char bare[NAME_MAX_LENGTH];
        if (!*unit || !ends_with(name, unit) || strlen(name) <= strlen(unit) + 1)
            continue;
        snprintf(bare, sizeof bare, "%.*s", (int)(strlen(name) - strlen(unit) - 1), name);
        suggestion_offer(ret, bare);
        if (strcmp(ret->word, bare) == 0)
            snprintf(ret->word, sizeof ret->word, "%s", name);
    }
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        for (unsigned part = 0; part < PARTS; part++) {
            char name[NAME_MAX_LENGTH];
            snprintf(name, sizeof name, "%s_%s", part_prefix(part), metric_table[id].facts.name);
            suggestion_offer(ret, name);
        }
}

int metric_check_globs(const char *globs, struct toll_error *e)
{
    const char *given = globs;
    char glob[NAME_MAX_LENGTH];
    unsigned seen = 0;
    while (globs && metric_next_glob(&globs, glob)) {
        seen++;
        if (metric_glob_matches_any(glob))
            continue;
        struct suggestion near;
        metric_suggest(glob, &near);
        if (*suggestion_text(&near))
            return err_set(e, -EINVAL, "metrics: unknown metric '%s'%s", glob,
                           suggestion_text(&near));
        return err_set(
            e, -EINVAL,
            "metrics: unknown metric '%s' ('toll metrics' lists all; '*' and '?' are wildcards)",
            glob);
    }
    if (globs && !seen)
        return err_set(e, -EINVAL,
                       "metrics: invalid list '%s' (expected names; 'toll metrics' lists all)",
                       given);
    return 0;
}
