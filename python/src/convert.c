/* SPDX-License-Identifier: MIT
 * Between Python's objects and libtoll's values. */
#include "binding.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong with a value is a ValueError, what the system refuses an OSError: Python makes a
 * ProcessLookupError, a FileNotFoundError and so on of it by the number. */
PyObject *raise_error(int code, const struct toll_error *e, const char *doing)
{
    const char *sentence = e && e->message[0] ? e->message : NULL;
    if (code == -ENOMEM)
        return PyErr_NoMemory();
    if (code == -EINVAL) {
        PyErr_SetString(PyExc_ValueError, sentence ? sentence : doing);
        return NULL;
    }
    PyObject *error = sentence ? PyObject_CallFunction(PyExc_OSError, "is", -code, sentence)
                               : PyObject_CallFunction(
                                     PyExc_OSError, "iN", -code,
                                     PyUnicode_FromFormat("%s: %s", doing, strerror(-code)));
    if (error) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

/* None of them has subclasses, or is of interest to the collector of garbage. */
void object_release(PyObject *object, PyObject *module)
{
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(module);
    PyObject_Free(object);
    Py_DECREF(type);
}

PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args;
    (void)kwargs;
    PyErr_Format(PyExc_TypeError,
                 "%R: cannot be created directly (use toll.track() or toll.snapshot())", type);
    return NULL;
}

/* Bytes and counts are whole numbers, everything else is measured in parts. */
bool is_whole(const struct toll_metric *metric)
{
    return strcmp(metric->unit, "bytes") == 0 || metric->unit[0] == '\0';
}

PyObject *figure_object(double value, bool whole)
{
    if (isnan(value))
        Py_RETURN_NONE;
    if (!whole || !(fabs(value) < 9e18))
        return PyFloat_FromDouble(value);
    long long number = (long long)value;
    return (double)number == value ? PyLong_FromLongLong(number) : PyFloat_FromDouble(value);
}

bool strings_read(PyObject *list, const char **ret, size_t capacity, PyObject **ret_bytes)
{
    *ret_bytes = NULL;
    ret[0] = NULL;
    Py_ssize_t count = PySequence_Size(list);
    if (count < 0)
        return false;
    if ((size_t)count >= capacity) {
        PyErr_Format(PyExc_ValueError, "too many texts: %zd (expected at most %zu)", count,
                     capacity - 1);
        return false;
    }
    PyObject *kept = PyList_New(0);
    for (Py_ssize_t i = 0; kept && i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        PyObject *bytes = !item ? NULL : PyBytes_Check(item) ? item : PyUnicode_AsUTF8String(item);
        char *text;
        if (bytes != item)
            Py_XDECREF(item);
        /* Without a place for the length: no NUL inside. */
        if (!bytes || PyBytes_AsStringAndSize(bytes, &text, NULL) < 0 ||
            PyList_Append(kept, bytes) < 0) {
            Py_XDECREF(bytes);
            Py_CLEAR(kept);
            break;
        }
        Py_DECREF(bytes);
        ret[i] = text;
        ret[i + 1] = NULL;
    }
    *ret_bytes = kept;
    return kept != NULL;
}

bool asked_read(struct asked *asked, PyObject *tuple)
{
    unsigned long long interval_ns;
    Py_ssize_t history;
    PyObject *labels;
    int memory, processes, children, system, network, since_start, without_self, show_secrets;
    *asked = (struct asked){.options = {.size = sizeof asked->options}};
    struct toll_options *o = &asked->options;
    if (!PyArg_ParseTuple(tuple, "KzzOiippppnppz", &interval_ns, &o->metrics, &o->name, &labels,
                          &memory, &processes, &children, &system, &network, &since_start, &history,
                          &without_self, &show_secrets, &o->gpus) ||
        !strings_read(labels, asked->labels, sizeof asked->labels / sizeof asked->labels[0],
                      &asked->label_bytes))
        return false;
    o->interval_ns = interval_ns;
    o->labels = asked->labels;
    o->memory = (enum toll_memory)memory;
    o->processes = (enum toll_processes)processes;
    o->no_children = !children;
    o->system = system;
    o->network = network;
    o->since_start = since_start;
    o->frames_kept = (size_t)history;
    o->without_self = without_self;
    o->show_secrets = show_secrets;
    return true;
}

void asked_done(struct asked *asked)
{
    Py_CLEAR(asked->label_bytes);
}

/* (kind, name, value, attributes) → the result of toll_mark: 0 accepted, 1 no listener, negative:
 * not accepted. The Python side has checked the name; nothing else is an error of the program. */
PyObject *send_mark(struct toll_tracker *t, PyObject *args)
{
    int kind;
    PyObject *attributes, *bytes;
    struct toll_mark mark = {.size = sizeof mark};
    if (!PyArg_ParseTuple(args, "isdO", &kind, &mark.name, &mark.value, &attributes))
        return NULL;
    mark.kind = (enum toll_mark_kind)kind;
    Py_ssize_t count = PySequence_Size(attributes);
    if (count < 0)
        return NULL;
    const char **texts = calloc((size_t)count + 1, sizeof *texts);
    if (!texts)
        return PyErr_NoMemory();
    if (!strings_read(attributes, texts, (size_t)count + 1, &bytes)) {
        free(texts);
        return NULL;
    }
    mark.attributes = count ? texts : NULL; /* libtoll has a shorter way without */
    int r;
    Py_BEGIN_ALLOW_THREADS r = toll_mark(t, &mark);
    Py_END_ALLOW_THREADS Py_DECREF(bytes);
    free(texts);
    return PyLong_FromLong(r);
}
