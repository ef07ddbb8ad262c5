/* SPDX-License-Identifier: MIT
 * Row: what a frame has of one target, process, disk and so on. */
#include "binding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct row {
    PyObject_HEAD PyObject *module; /* owned */
    PyObject *frame;                /* owned; the row lives in it */
    const struct toll_row *row;     /* borrowed from the frame */
};

PyObject *row_object(PyObject *module, PyObject *frame, const struct toll_row *row)
{
    struct row *self = (struct row *)PyType_GenericAlloc(binding_of(module)->row_type, 0);
    if (!self)
        return NULL;
    Py_INCREF(module);
    Py_INCREF(frame);
    self->module = module;
    self->frame = frame;
    self->row = row;
    return (PyObject *)self;
}

static void row_dealloc(PyObject *object)
{
    struct row *self = (struct row *)object;
    Py_CLEAR(self->frame);
    object_release(object, self->module);
}

PyObject *row_figure(const struct toll_row *row, const char *name, PyObject *kind)
{
    const struct toll_metric *metric;
    double value;
    for (size_t i = 0; row && (metric = toll_row_at(row, i, &value)); i++)
        if (strcmp(metric->name, name) == 0)
            return figure_object(value, is_whole(metric));
    return PyErr_Format(kind, "there is no figure '%.200s' of %s; keys() shows those there are",
                        name, row ? row->entity : "a frame without rows");
}

static PyObject *get_metric(PyObject *object, void *closure)
{
    return row_attribute(((struct row *)object)->row, closure);
}

static PyObject *get_item(PyObject *object, PyObject *key)
{
    const struct row *self = (struct row *)object;
    PyObject *bytes = PyUnicode_AsUTF8String(key);
    if (!bytes)
        return NULL;
    PyObject *figure = row_figure(self->row, PyBytes_AsString(bytes), PyExc_KeyError);
    Py_DECREF(bytes);
    return figure;
}

static PyObject *to_dict(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct row *self = (struct row *)object;
    PyObject *all = PyDict_New();
    const struct toll_metric *metric;
    double value;
    for (size_t i = 0; all && (metric = toll_row_at(self->row, i, &value)); i++) {
        PyObject *figure = figure_object(value, is_whole(metric));
        if (!figure || PyDict_SetItemString(all, metric->name, figure) < 0)
            Py_CLEAR(all);
        Py_XDECREF(figure);
    }
    return all;
}

static PyObject *keys(PyObject *object, PyObject *unused)
{
    PyObject *all = to_dict(object, unused);
    PyObject *names = all ? PyDict_Keys(all) : NULL;
    Py_XDECREF(all);
    return names;
}

/* Names of processes may be any bytes. */
static PyObject *text(const char *bytes)
{
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "surrogateescape");
}

static PyObject *get_entity(PyObject *object, void *closure)
{
    (void)closure;
    return text(((struct row *)object)->row->entity);
}

static PyObject *get_part(PyObject *object, void *closure)
{
    (void)closure;
    return text(((struct row *)object)->row->part);
}

static PyObject *get_name(PyObject *object, void *closure)
{
    (void)closure;
    return text(((struct row *)object)->row->name);
}

static PyObject *get_pid(PyObject *object, void *closure)
{
    (void)closure;
    pid_t pid = ((struct row *)object)->row->pid;
    return pid ? PyLong_FromLong(pid) : (Py_INCREF(Py_None), Py_None);
}

static PyObject *get_parent(PyObject *object, void *closure)
{
    (void)closure;
    const struct toll_row *row = ((struct row *)object)->row;
    return row->pid ? PyLong_FromLong(row->parent) : (Py_INCREF(Py_None), Py_None);
}

static PyObject *row_repr(PyObject *object)
{
    const struct toll_row *row = ((struct row *)object)->row;
    PyObject *name = text(row->name);
    PyObject *shown = !name          ? NULL
                      : row->part[0] ? PyUnicode_FromFormat("<toll.Row %s %s %R>", row->entity,
                                                            row->part, name)
                                     : PyUnicode_FromFormat("<toll.Row %s %R>", row->entity, name);
    Py_XDECREF(name);
    return shown;
}

static const PyGetSetDef facts[] = {
    {"entity", get_entity, NULL, "what the figures are of: target, process, system, disk, …", NULL},
    {"part", get_part, NULL, "of a target: combined, main or descendants; otherwise ''", NULL},
    {"name", get_name, NULL, "of one of several targets, of the process, the disk, …; or ''", NULL},
    {"pid", get_pid, NULL, "of a process; None of anything else", NULL},
    {"parent", get_parent, NULL, "the pid of a process's parent; None of anything else", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"to_dict", to_dict, METH_NOARGS, "to_dict($self)\n--\n\nEvery figure by its name."},
    {"keys", keys, METH_NOARGS, "keys($self)\n--\n\nThe names of all figures."},
    {NULL, NULL, 0, NULL},
};

/* The attributes are the same for every interpreter and live as long as the program. */
static PyGetSetDef *attributes;
static pthread_once_t attributes_once = PTHREAD_ONCE_INIT;

static void make_attributes(void)
{
    attributes = metric_attributes(facts, get_metric, NULL);
}

PyTypeObject *row_type_new(void)
{
    pthread_once(&attributes_once, make_attributes);
    if (!attributes)
        return (PyTypeObject *)PyErr_NoMemory();
    static char doc[] = "Figures of one target, process, disk and so on: row.cpu_seconds, or\n"
                        "row['cpu_seconds']. What is not known is None.";
    PyType_Slot slots[] = {
        {Py_tp_doc, doc},
        {Py_tp_new, refuse_new},
        {Py_tp_dealloc, row_dealloc},
        {Py_tp_repr, row_repr},
        {Py_tp_getset, attributes},
        {Py_tp_methods, methods},
        {Py_mp_subscript, get_item},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "toll.Row",
        .basicsize = sizeof(struct row),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
