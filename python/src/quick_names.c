/* SPDX-License-Identifier: MIT
 * Metrics by the address of their name. Names in the text of a program are interned, one object for
 * each, so that a look into this table does for what Python takes four steps for. */
#include "binding.h"

#include <stdint.h>

static size_t place_of(PyObject *name)
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
        struct quick_name *at = name ? &table[place_of(name)] : NULL;
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
    const struct quick_name *at = &table[place_of(name)];
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
