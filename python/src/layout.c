/* SPDX-License-Identifier: MIT
 * The tables of layouts, as tuples. */
#include "binding.h"

/* Appends a new reference, which may be NULL; false: raised. */
static bool append(PyObject *list, PyObject *item)
{
    bool good = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return good;
}

static PyObject *options_of(const char *layout)
{
    PyObject *all = PyList_New(0);
    const struct toll_layout_option *o;
    for (size_t i = 0; all && (o = toll_layout_option_at(layout, i)); i++)
        if (!append(all, Py_BuildValue("(ssss)", o->name, o->value, o->accepted, o->help)))
            Py_CLEAR(all);
    return all;
}

static PyObject *columns_of(const char *layout)
{
    PyObject *all = PyList_New(0);
    const struct toll_layout_column *c;
    for (size_t i = 0; all && (c = toll_layout_column_at(layout, i)); i++)
        if (!append(all, Py_BuildValue("(sssssssssdIN)", c->format, c->columns, c->subject, c->file,
                                       c->name, c->label, c->terms, c->take, c->type, c->factor,
                                       c->decimals, PyBool_FromLong(c->optional))))
            Py_CLEAR(all);
    return all;
}

PyObject *layout_tables(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *all = PyList_New(0);
    const struct toll_layout *d;
    for (size_t i = 0; all && (d = toll_layout_at(i)); i++) {
        PyObject *options = options_of(d->name), *columns = columns_of(d->name);
        PyObject *one = options && columns
                            ? Py_BuildValue("(sssdOO)", d->name, d->formats, d->help,
                                            (double)d->interval_ns / 1e9, options, columns)
                            : NULL;
        Py_XDECREF(options);
        Py_XDECREF(columns);
        if (!append(all, one))
            Py_CLEAR(all);
    }
    return all;
}
