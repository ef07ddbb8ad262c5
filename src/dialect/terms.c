/* SPDX-License-Identifier: MIT */
#include "dialect/terms.h"

#include "metric/column.h"

#include <string.h>

const char *const dialect_fact_names[DIALECT_FACTS] = {
    [FACT_TIME] = "time",   [FACT_ELAPSED] = "elapsed",   [FACT_INTERVAL] = "interval",
    [FACT_PID] = "pid",     [FACT_OWN_PID] = "own_pid",   [FACT_GROUP] = "group",
    [FACT_CPUS] = "cpus",   [FACT_GPUS] = "gpus",         [FACT_STEP] = "step",
    [FACT_SINCE] = "since", [FACT_HAS_GPUS] = "has_gpus", [FACT_UTC] = "utc",
    [FACT_LOCAL] = "local", [FACT_NAME] = "name",         [FACT_NUMBER] = "number",
};

enum { WORD_BYTES = 96 };

static int parse_fact(struct term *t, const char *word)
{
    t->of = TERM_FACT;
    for (unsigned f = 0; f < DIALECT_FACTS; f++)
        if (strcmp(dialect_fact_names[f], word) == 0) {
            t->fact = f;
            return 0;
        }
    return -EINVAL;
}

/* "gpu.*", "gpu.*.memory_used_bytes", "gpu.*.utilization_ratio>0", "mount./.size_bytes" */
static int parse_things(struct term *t, char *word, char *star)
{
    bool is_root = star[1] == '/';
    *star = '\0';
    char *rest = star + 2;
    unsigned kind = 0;
    while (kind < ENTITY_KINDS && strcmp(entity_kind_name(kind), word) != 0)
        kind++;
    if (kind == ENTITY_KINDS)
        return -EINVAL;
    t->kind = kind;
    t->of = TERM_COUNT;
    if (!*rest)
        return is_root ? -EINVAL : 0;
    char *above = strstr(rest, ">0");
    if (above && above[2])
        return -EINVAL;
    size_t length = strlen(rest);
    bool is_largest = rest[length - 1] == '^';
    if (above)
        *above = '\0';
    if (is_largest)
        rest[length - 1] = '\0';
    t->of = is_root ? TERM_ROOT : above ? TERM_ABOVE_ZERO : is_largest ? TERM_LARGEST : TERM_SUM;
    if (*rest++ != '.')
        return -EINVAL;
    for (unsigned i = 0; i < metric_count(kind); i++)
        if (strcmp(metric_of(metric_first(kind) + i)->facts.name, rest) == 0) {
            t->id = metric_first(kind) + i;
            return 0;
        }
    return -EINVAL;
}

static int parse_figure(struct term *t, const char *word)
{
    static const enum entity_kind alone[] = {ENTITY_SYSTEM, ENTITY_SELF};
    t->of = TERM_FIGURE;
    for (unsigned part = 0; part < PARTS; part++) {
        int id = column_metric(ENTITY_TARGET, part, NULL, word);
        if (id < 0)
            continue;
        t->kind = ENTITY_TARGET;
        t->part = part;
        t->id = (enum metric_id)id;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
        int id = column_metric(alone[i], PART_COMBINED, NULL, word);
        if (id < 0)
            continue;
        t->kind = alone[i];
        t->id = (enum metric_id)id;
        return 0;
    }
    return -EINVAL;
}

static int parse_word(struct term *t, const char *text, size_t length)
{
    char word[WORD_BYTES];
    if (!length || length >= sizeof word)
        return -EINVAL;
    memcpy(word, text, length);
    word[length] = '\0';
    if (*word == '@')
        return parse_fact(t, word + 1);
    if (*word == '=' || *word == '~') {
        t->of = *word == '=' ? TERM_OPTION : TERM_OWN;
        t->option = text + 1;
        return 0;
    }
    char *star = strstr(word, ".*");
    if (!star)
        star = strstr(word, "./");
    return star ? parse_things(t, word, star) : parse_figure(t, word);
}

int terms_parse(struct terms *ret, const char *text)
{
    *ret = (struct terms){0};
    bool minus = false;
    for (;;) {
        size_t length = strcspn(text, " ");
        if (ret->count == TERMS_AT_MOST)
            return -EINVAL;
        struct term *t = &ret->items[ret->count++];
        *t = (struct term){.minus = minus};
        int r = parse_word(t, text, length);
        if (r < 0)
            return r;
        text += length;
        if (!*text)
            return 0;
        if (strncmp(text, " + ", 3) != 0 && strncmp(text, " - ", 3) != 0)
            return -EINVAL;
        minus = text[1] == '-';
        text += 3;
    }
}

bool terms_have(const struct terms *t, enum entity_kind kind)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].of < TERM_FACT && t->items[i].kind == kind)
            return true;
    return false;
}
