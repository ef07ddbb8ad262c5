/* SPDX-License-Identifier: MIT
 * Frame: what one look saw. Nothing is converted before somebody asks for it. */
#include "binding.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    PyObject_HEAD PyObject *module; /* owned */
    struct toll_frame *frame;       /* owned */
    const struct toll_row *first;   /* its first row, or NULL */
    const struct quick_name *names; /* the module's */
};

PyObject *frame_object(PyObject *module, struct toll_frame *frame)
{
    const struct binding *b = binding_of(module);
    struct frame *self = (struct frame *)PyType_GenericAlloc(b->frame_type, 0);
    if (!self) {
        toll_frame_free(frame);
        return NULL;
    }
    Py_INCREF(module);
    self->module = module;
    self->frame = frame;
    self->first = toll_frame_row(frame, 0);
    self->names = b->frame_names;
    return (PyObject *)self;
}

const struct toll_frame *frame_of(PyObject *module, PyObject *object)
{
    if (Py_TYPE(object) == binding_of(module)->frame_type)
        return ((struct frame *)object)->frame;
    PyErr_Format(PyExc_TypeError, "%R is no frame", object);
    return NULL;
}

static void frame_dealloc(PyObject *object)
{
    struct frame *self = (struct frame *)object;
    toll_frame_free(self->frame);
    object_release(object, self->module);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

/* Figures without a lead are those of the first row: of all targets together, or the machine. */
static PyObject *get_metric(PyObject *object, void *closure)
{
    return row_attribute(((struct frame *)object)->first, closure);
}

static PyObject *get_attribute(PyObject *object, PyObject *name)
{
    const struct frame *self = (struct frame *)object;
    const struct figure_name *figure = quick_names_find(self->names, name);
    return figure ? row_attribute(self->first, figure) : PyObject_GenericGetAttr(object, name);
}

static PyObject *seconds(uint64_t ns)
{
    return PyFloat_FromDouble((double)ns / 1e9);
}

static PyObject *get_number(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct frame *)object)->frame->number);
}

static PyObject *get_time(PyObject *object, void *closure)
{
    (void)closure;
    return seconds(((struct frame *)object)->frame->real_ns);
}

static PyObject *get_time_ns(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct frame *)object)->frame->real_ns);
}

static PyObject *get_elapsed(PyObject *object, void *closure)
{
    (void)closure;
    return seconds(((struct frame *)object)->frame->elapsed_ns);
}

static PyObject *get_interval(PyObject *object, void *closure)
{
    (void)closure;
    return seconds(((struct frame *)object)->frame->interval_ns);
}

static PyObject *get_missed(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct frame *)object)->frame->missed);
}

static PyObject *get_dropped(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(((struct frame *)object)->frame->dropped);
}

static PyObject *get_last(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((struct frame *)object)->frame->last);
}

static PyObject *get_rows(PyObject *object, void *closure)
{
    (void)closure;
    const struct frame *self = (struct frame *)object;
    PyObject *rows = PyList_New(0);
    const struct toll_row *row;
    for (size_t i = 0; rows && (row = toll_frame_row(self->frame, i)); i++) {
        PyObject *one = row_object(self->module, object, row);
        if (!one || PyList_Append(rows, one) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(one);
    }
    return rows;
}

/* ---- By the names of columns ------------------------------------------------------------------
 */

enum {
    LEAD_BYTES = 512
}; /* as what stands before the name of a metric has at most; a longer one,
      of a path, is cut and found by nobody */

/* "target_", "target.web.main_", "disk.vda."; NULL without an error set: such rows are no columns.
 */
static PyObject *column_lead(const struct toll_row *row)
{
    char lead[LEAD_BYTES];
    size_t length = toll_row_column(row, "", lead, sizeof lead);
    if (!length)
        return NULL;
    return PyUnicode_DecodeUTF8(lead, (Py_ssize_t)strlen(lead), "replace");
}

static bool add_columns(PyObject *all, const struct toll_row *row)
{
    PyObject *lead = column_lead(row);
    const struct toll_metric *metric;
    double value;
    for (size_t i = 0; lead && (metric = toll_row_at(row, i, &value)); i++) {
        PyObject *name = PyUnicode_FromFormat("%U%s", lead, metric->name);
        PyObject *figure = figure_object(value, is_whole(metric));
        if (!name || !figure || PyDict_SetItem(all, name, figure) < 0)
            Py_CLEAR(lead);
        Py_XDECREF(name);
        Py_XDECREF(figure);
    }
    Py_XDECREF(lead);
    return !PyErr_Occurred();
}

static PyObject *to_dict(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct toll_frame *frame = ((struct frame *)object)->frame;
    PyObject *all = PyDict_New();
    const struct toll_row *row;
    for (size_t i = 0; all && (row = toll_frame_row(frame, i)); i++)
        if (!add_columns(all, row))
            Py_CLEAR(all);
    return all;
}

static PyObject *keys(PyObject *object, PyObject *unused)
{
    PyObject *all = to_dict(object, unused);
    PyObject *names = all ? PyDict_Keys(all) : NULL;
    Py_XDECREF(all);
    return names;
}

static bool has_metric(const struct toll_row *row, const char *name)
{
    const struct toll_metric *metric;
    for (size_t i = 0; (metric = toll_row_at(row, i, NULL)); i++)
        if (strcmp(metric->name, name) == 0)
            return true;
    return false;
}

/* The row that has such a column, *ret_name is the rest; or one whose columns begin so. */
static const struct toll_row *row_of(const struct toll_frame *frame, const char *column,
                                     const char **ret_name)
{
    const struct toll_row *row, *like_it = NULL;
    for (size_t i = 0; (row = toll_frame_row(frame, i)); i++) {
        char lead[LEAD_BYTES];
        size_t length = toll_row_column(row, "", lead, sizeof lead);
        if (!length || length >= sizeof lead || strncmp(column, lead, length) != 0)
            continue;
        like_it = row;
        *ret_name = column + length;
        if (has_metric(row, *ret_name))
            return row;
    }
    return like_it;
}

/* What is missing, and what may have been meant: "cpu_seconds" is target_cpu_seconds. */
static void raise_no_column(const struct toll_row *first, const char *name)
{
    char meant[LEAD_BYTES];
    if (first && has_metric(first, name) && toll_row_column(first, name, meant, sizeof meant))
        PyErr_Format(PyExc_KeyError, "there is no figure '%s'; '%s' may be meant", name, meant);
    else
        PyErr_Format(PyExc_KeyError,
                     "there is no figure '%s'; names are like target_cpu_seconds, keys() shows all",
                     name);
}

static PyObject *get_item(PyObject *object, PyObject *key)
{
    const struct toll_frame *frame = ((struct frame *)object)->frame;
    PyObject *bytes = PyUnicode_AsUTF8String(key);
    if (!bytes)
        return NULL;
    const char *name;
    const struct toll_row *row = row_of(frame, PyBytes_AsString(bytes), &name);
    PyObject *found = NULL;
    if (row)
        found = row_figure(row, name, PyExc_KeyError);
    else
        raise_no_column(toll_frame_row(frame, 0), PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return found;
}

static PyObject *frame_repr(PyObject *object)
{
    const struct toll_frame *frame = ((struct frame *)object)->frame;
    return PyUnicode_FromFormat(
        "<toll.Frame %llu after %llu ms, %zu rows>", (unsigned long long)frame->number,
        (unsigned long long)(frame->elapsed_ns / 1000000), frame->row_count);
}

/* ---- The type ---------------------------------------------------------------------------------
 */

static const PyGetSetDef facts[] = {
    {"number", get_number, NULL, "of the tracker's frames, from 0", NULL},
    {"time", get_time, NULL, "when: seconds since 1970, as time.time()", NULL},
    {"time_ns", get_time_ns, NULL, "when: nanoseconds since 1970, as time.time_ns()", NULL},
    {"elapsed_seconds", get_elapsed, NULL, "since the start of the run", NULL},
    {"interval_seconds", get_interval, NULL, "since the frame before, as it really was", NULL},
    {"missed", get_missed, NULL, "samples so far that came too late to be taken", NULL},
    {"dropped", get_dropped, NULL, "frames so far that nobody took in time", NULL},
    {"last", get_last, NULL, "no frame comes behind this one", NULL},
    {"rows", get_rows, NULL, "a Row for each target and part, process, disk and so on", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"to_dict", to_dict, METH_NOARGS,
     "to_dict($self)\n--\n\nEvery figure by the name it has as a column of CSV. Rows of single\n"
     "processes are not among them."},
    {"keys", keys, METH_NOARGS, "keys($self)\n--\n\nThe names that to_dict() has."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef *attributes;
static pthread_once_t attributes_once = PTHREAD_ONCE_INIT;

static void make_attributes(void)
{
    static const char *const whole[] = {"process", "system", NULL};
    attributes = metric_attributes(facts, get_metric, whole);
}

PyTypeObject *frame_type_new(struct quick_name *names)
{
    pthread_once(&attributes_once, make_attributes);
    if (!attributes)
        return (PyTypeObject *)PyErr_NoMemory();
    if (!quick_names_fill(names, attributes, get_metric))
        return NULL;
    static char doc[] =
        "What one look saw. frame.cpu_seconds is of all targets together (of the\n"
        "machine, when only that was looked at); frame['main_cpu_seconds'] goes by\n"
        "the name of a column; frame.rows has everything. Unknown is None.";
    PyType_Slot slots[] = {
        {Py_tp_doc, doc},         {Py_tp_new, refuse_new},     {Py_tp_dealloc, frame_dealloc},
        {Py_tp_repr, frame_repr}, {Py_tp_getset, attributes},  {Py_tp_getattro, get_attribute},
        {Py_tp_methods, methods}, {Py_mp_subscript, get_item}, {0, NULL},
    };
    PyType_Spec spec = {
        .name = "toll.Frame",
        .basicsize = sizeof(struct frame),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
