/* SPDX-License-Identifier: MIT
 * An attribute for each metric, made of libtoll's table: no metric is named by hand. */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    PyGetSetDef *rows;
    struct figure_name *names;
    size_t count;
};

static bool has(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].name, name) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct toll_metric *metric, const char *const *entities)
{
    for (const char *const *e = entities; e && *e; e++)
        if (strcmp(metric->entity, *e) == 0)
            return true;
    return !entities;
}

/* "CPU time, user: …, in seconds", owned. */
static char *description(const struct toll_metric *metric)
{
    char *text;
    const char *unit = metric->unit[0] ? metric->unit : "a plain number";
    return asprintf(&text, "%s, in %s: %s", metric->title, unit, metric->help) < 0 ? NULL : text;
}

PyGetSetDef *metric_attributes(const PyGetSetDef *first, getter get, const char *const *entities)
{
    size_t most = 0;
    while (toll_metric_at(most))
        most++;
    struct table t = {0};
    while (first[t.count].name)
        t.count++;
    most += t.count + 1;
    t.rows = calloc(most, sizeof *t.rows);
    t.names = calloc(most, sizeof *t.names);
    if (!t.rows || !t.names) {
        free(t.rows);
        free(t.names);
        return NULL;
    }
    memcpy(t.rows, first, t.count * sizeof *t.rows);
    const struct toll_metric *metric;
    size_t first_of_entity = 0; /* those of one entity stand together */
    for (size_t i = 0; (metric = toll_metric_at(i)); i++) {
        if (strcmp(metric->entity, toll_metric_at(first_of_entity)->entity) != 0)
            first_of_entity = i;
        if (!is_wanted(metric, entities) || has(&t, metric->name))
            continue;
        t.names[t.count] = (struct figure_name){
            .name = metric->name,
            .index = i - first_of_entity,
            .whole = is_whole(metric),
        };
        t.rows[t.count] = (PyGetSetDef){
            .name = metric->name,
            .get = get,
            .doc = description(metric),
            .closure = &t.names[t.count],
        };
        t.count++;
    }
    return t.rows;
}
