/* SPDX-License-Identifier: MIT
 * Row: the figures of one target, process, disk and so on in a frame. */
#include "binding.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
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
    return PyErr_Format(kind, "figure '%.200s': not a figure of %s (keys() lists all)", name,
                        row ? row->entity : "a frame without rows");
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

/* ---- For people ------------------------------------------------------------------------------ */

/* What is shown of a row first: these of those it has, otherwise the first that are known. */
static const struct {
    const char *name, *word;
} headlines[] = {
    {"cpu_seconds", "CPU"},
    {"memory_rss_bytes", "RSS"},
    {"memory_used_bytes", "memory used"},
    {"cpu_cores", "cores busy"},
};
enum { HEADLINE_FIGURES = 2 };

static bool headline_add(PyObject **words, double value, const char *unit, const char *word)
{
    char number[NUMBER_BYTES];
    toll_number_text(value, unit, number, sizeof number);
    PyObject *longer = PyUnicode_FromFormat("%U%s%s %s", *words,
                                            PyUnicode_GetLength(*words) ? ", " : "", number, word);
    Py_DECREF(*words);
    *words = longer;
    return longer != NULL;
}

PyObject *row_headline(const struct toll_row *row)
{
    PyObject *words = PyUnicode_FromString("");
    const struct toll_metric *metric;
    double value;
    int count = 0;
    for (size_t i = 0; words && i < sizeof headlines / sizeof headlines[0]; i++) {
        metric = NULL;
        for (size_t k = 0; (metric = toll_row_at(row, k, &value)); k++)
            if (strcmp(metric->name, headlines[i].name) == 0)
                break;
        if (metric && !isnan(value) && count < HEADLINE_FIGURES && ++count &&
            !headline_add(&words, value, metric->unit, headlines[i].word))
            return NULL;
    }
    bool is_other = count == 0;
    for (size_t k = 0; words && is_other && (metric = toll_row_at(row, k, &value)); k++)
        if (!isnan(value) && count < HEADLINE_FIGURES && ++count &&
            !headline_add(&words, value, metric->unit, metric->title))
            return NULL;
    if (words && count == 0) {
        Py_DECREF(words);
        words = PyUnicode_FromString("no known figures");
    }
    return words;
}

/* <Row process 4711 'cc1plus': 18.2 s CPU, 612 MiB RSS>, <Row target main: …>. Names are shown as
 * Python texts: whatever is in them, no control characters come out. */
static PyObject *row_repr(PyObject *object)
{
    const struct toll_row *row = ((struct row *)object)->row;
    char pid[16] = "";
    if (row->pid)
        snprintf(pid, sizeof pid, " %d", (int)row->pid);
    PyObject *name = text(row->name), *figures = row_headline(row), *shown = NULL;
    if (name && figures && row->name[0])
        shown = PyUnicode_FromFormat("<Row %s%s%s%s %R: %U>", row->entity, row->part[0] ? " " : "",
                                     row->part, pid, name, figures);
    else if (name && figures)
        shown = PyUnicode_FromFormat("<Row %s%s%s%s: %U>", row->entity, row->part[0] ? " " : "",
                                     row->part, pid, figures);
    Py_XDECREF(name);
    Py_XDECREF(figures);
    return shown;
}

/* (frame_row of the module, (frame, number)): a row is pickled with the frame that it is of. */
static PyObject *row_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct row *self = (struct row *)object;
    const struct toll_frame *frame = frame_of(self->module, self->frame);
    Py_ssize_t number = 0;
    while (frame && toll_frame_row(frame, (size_t)number) != self->row)
        number++;
    PyObject *make = frame ? PyObject_GetAttrString(self->module, "frame_row") : NULL;
    return make ? Py_BuildValue("(N(On))", make, self->frame, number) : NULL;
}

static PyObject *row_copy(PyObject *object, PyObject *unused)
{
    (void)unused;
    Py_INCREF(object);
    return object;
}

static const PyGetSetDef facts[] = {
    {"entity", get_entity, NULL, "What the figures are of: target, process, system, disk, …", NULL},
    {"part", get_part, NULL, "Of a target: combined, main or descendants; otherwise ''.", NULL},
    {"name", get_name, NULL, "Of one of several targets, of the process, the disk, …; or ''.",
     NULL},
    {"pid", get_pid, NULL, "Process id; None for anything but a process.", NULL},
    {"parent", get_parent, NULL, "Process id of the parent; None for anything but a process.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"to_dict", to_dict, METH_NOARGS, "to_dict($self)\n--\n\nEvery figure by its name."},
    {"keys", keys, METH_NOARGS, "keys($self)\n--\n\nThe names of all figures."},
    {"__reduce__", row_reduce, METH_NOARGS, "__reduce__($self)\n--\n\nFor pickle."},
    {"__copy__", row_copy, METH_NOARGS, "__copy__($self)\n--\n\nThe row itself."},
    {"__deepcopy__", row_copy, METH_O, "__deepcopy__($self, memo, /)\n--\n\nThe row itself."},
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
    static char doc[] = "The figures of one target, process, disk and so on in a frame:\n"
                        "row.cpu_seconds, or row['cpu_seconds']. What is not known is None.";
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
