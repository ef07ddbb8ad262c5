/* SPDX-License-Identifier: MIT
 * An attribute for each metric, made of the table of libtoll: no metric is named by hand. Names in
 * the text of a program are interned, one object for each: those of metrics are also found by the
 * address of the object, in one step instead of four. */
#include "binding.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
    PyGetSetDef *rows;
    struct figure_name *names;
    size_t count;
};

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
    size_t first_of_entity = 0; /* metrics of one entity are consecutive */
    for (size_t i = 0; (metric = toll_metric_at(i)); i++) {
        if (strcmp(metric->entity, toll_metric_at(first_of_entity)->entity) != 0)
            first_of_entity = i;
        bool is_wanted = !entities, is_there = false;
        for (const char *const *e = entities; e && *e && !is_wanted; e++)
            is_wanted = strcmp(metric->entity, *e) == 0;
        for (size_t k = 0; k < t.count && !is_there; k++)
            is_there = strcmp(t.rows[k].name, metric->name) == 0;
        if (!is_wanted || is_there)
            continue;
        char *doc; /* "CPU time, user: … (seconds)", owned by the table */
        bool has_unit = metric->unit[0];
        if (asprintf(&doc, "%s: %s%s%s%s", metric->title, metric->help, has_unit ? " (" : "",
                     metric->unit, has_unit ? ")" : "") < 0)
            doc = NULL;
        t.names[t.count] = (struct figure_name){
            .name = metric->name,
            .index = i - first_of_entity,
            .whole = is_whole(metric),
        };
        t.rows[t.count] = (PyGetSetDef){
            .name = metric->name,
            .get = get,
            .doc = doc,
            .closure = &t.names[t.count],
        };
        t.count++;
    }
    return t.rows;
}

/* ---- By the address of the name ------------------------------------------------------------ */

static size_t quick_place(PyObject *name)
{
    return ((uintptr_t)name >> 4) % QUICK_NAMES;
}

bool quick_names_fill(struct quick_name *table, const PyGetSetDef *attributes, getter get)
{
    for (; attributes->name; attributes++) {
        PyObject *name = attributes->get == get ? PyUnicode_InternFromString(attributes->name)
                                                : NULL;
        if (PyErr_Occurred())
            return false;
        struct quick_name *at = name ? &table[quick_place(name)] : NULL;
        for (int i = 0; at && i < QUICK_TRIES && at->name; i++)
            at++;
        if (at && !at->name)
            *at = (struct quick_name){name, attributes->closure};
        else
            Py_XDECREF(name); /* no room: it goes the usual way */
    }
    return true;
}

const struct figure_name *quick_names_find(const struct quick_name *table, PyObject *name)
{
    const struct quick_name *at = &table[quick_place(name)];
    for (int i = 0; i <= QUICK_TRIES; i++)
        if (at[i].name == name)
            return at[i].figure;
    return NULL;
}

void quick_names_clear(struct quick_name *table)
{
    for (size_t i = 0; i < QUICK_NAMES + QUICK_TRIES; i++)
        Py_CLEAR(table[i].name);
}
