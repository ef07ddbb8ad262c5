/* SPDX-License-Identifier: MIT
 * Layouts: their tables as tuples, and frames as rows of them. The calls take microseconds; the GIL
 * is their lock. */
#include "binding.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- Tables -------------------------------------------------------------------------------- */

/* Appends a new reference, which may be NULL; false: raised. */
static bool layout_append(PyObject *list, PyObject *item)
{
    bool good = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return good;
}

static PyObject *layout_options(const char *layout)
{
    PyObject *all = PyList_New(0);
    const struct toll_layout_option *o;
    for (size_t i = 0; all && (o = toll_layout_option_at(layout, i)); i++)
        if (!layout_append(all, Py_BuildValue("(ssss)", o->name, o->value, o->accepted, o->help)))
            Py_CLEAR(all);
    return all;
}

static PyObject *layout_columns(const char *layout)
{
    PyObject *all = PyList_New(0);
    const struct toll_layout_column *c;
    for (size_t i = 0; all && (c = toll_layout_column_at(layout, i)); i++)
        if (!layout_append(all,
                           Py_BuildValue("(sssssssssdIN)", c->format, c->columns, c->subject,
                                         c->file, c->name, c->label, c->terms, c->take, c->type,
                                         c->factor, c->decimals, PyBool_FromLong(c->optional))))
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
        PyObject *options = layout_options(d->name), *columns = layout_columns(d->name);
        PyObject *one = options && columns
                            ? Py_BuildValue("(sssdOO)", d->name, d->formats, d->help,
                                            (double)d->interval_ns / 1e9, options, columns)
                            : NULL;
        Py_XDECREF(options);
        Py_XDECREF(columns);
        if (!layout_append(all, one))
            Py_CLEAR(all);
    }
    return all;
}

/* ---- Translator ---------------------------------------------------------------------------- */

struct translator {
    PyObject_HEAD PyObject *module; /* owned */
    struct toll_translator *tr;     /* owned */
};

PyObject *translator_object(PyObject *module, PyObject *args)
{
    const char *layout;
    struct toll_translator *tr = NULL;
    struct toll_error e = {0};
    if (!PyArg_ParseTuple(args, "s", &layout))
        return NULL;
    int r = toll_translator_new(&tr, layout, &e);
    if (r < 0)
        return raise_error(r, &e, "layout: cannot be used");
    struct translator *self = (struct translator *)PyType_GenericAlloc(
        binding_of(module)->translator_type, 0);
    if (!self) {
        toll_translator_free(tr);
        return NULL;
    }
    Py_INCREF(module);
    self->module = module;
    self->tr = tr;
    return (PyObject *)self;
}

static void translator_dealloc(PyObject *object)
{
    struct translator *self = (struct translator *)object;
    toll_translator_free(self->tr);
    object_release(object, self->module);
}

static PyObject *translator_set_fact(PyObject *object, PyObject *args)
{
    const char *fact;
    double value;
    if (!PyArg_ParseTuple(args, "sd", &fact, &value))
        return NULL;
    int r = toll_translator_set_fact(((struct translator *)object)->tr, fact, value);
    if (r < 0)
        return raise_error(r, NULL, "fact: unknown (expected pid, group, cpus, since or elapsed)");
    Py_RETURN_NONE;
}

static PyObject *translator_columns(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct translator *self = (struct translator *)object;
    PyObject *all = PyList_New(0);
    const char *name;
    for (size_t i = 0; all && (name = toll_translator_column(self->tr, i)); i++) {
        PyObject *one = PyUnicode_FromString(name);
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

/* A number is whole or not as the layout writes it: a 0 for what is not there is a bare one. */
static PyObject *translator_cell(struct translator *self, size_t row, size_t column)
{
    const char *text = toll_translator_text(self->tr, row, column);
    double value = toll_translator_value(self->tr, row, column);
    if (!text)
        Py_RETURN_NONE;
    if (isnan(value))
        return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (strpbrk(text, ".en"))
        return PyFloat_FromDouble(PyOS_string_to_double(text, NULL, NULL));
    return PyLong_FromString(text, NULL, 10);
}

static PyObject *translator_row(struct translator *self, size_t row)
{
    size_t count = 0;
    while (toll_translator_column(self->tr, count))
        count++;
    PyObject *values = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; values && i < count; i++) {
        PyObject *one = translator_cell(self, row, i);
        if (!one || PyTuple_SetItem(values, (Py_ssize_t)i, one) < 0)
            Py_CLEAR(values);
    }
    return values;
}

static PyObject *translator_rows(PyObject *object, PyObject *frame)
{
    struct translator *self = (struct translator *)object;
    const struct toll_frame *seen = frame_of(self->module, frame);
    if (!seen)
        return NULL;
    int count = toll_translator_frame(self->tr, seen);
    if (count < 0)
        return raise_error(count, NULL, "layout: no columns for what the frame is of");
    PyObject *rows = PyList_New(count);
    for (int i = 0; rows && i < count; i++) {
        PyObject *one = translator_row(self, (size_t)i);
        if (!one || PyList_SetItem(rows, i, one) < 0)
            Py_CLEAR(rows);
    }
    return rows;
}

static PyMethodDef translator_methods[] = {
    {"set_fact", translator_set_fact, METH_VARARGS,
     "set_fact($self, fact, value, /)\n--\n\nA fact that frames lack."},
    {"columns", translator_columns, METH_NOARGS,
     "columns($self, /)\n--\n\nTheir names; none before the first frame."},
    {"rows", translator_rows, METH_O, "rows($self, frame, /)\n--\n\nThe rows made from a frame."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *translator_type_new(void)
{
    static char doc[] = "Frames as rows of a layout. Python programs use toll.Translator.";
    PyType_Slot slots[] = {
        {Py_tp_doc, doc},
        {Py_tp_new, refuse_new},
        {Py_tp_dealloc, translator_dealloc},
        {Py_tp_methods, translator_methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "toll._toll.Translator",
        .basicsize = sizeof(struct translator),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
