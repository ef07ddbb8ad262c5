/* SPDX-License-Identifier: MIT
 * Frame: one sample. A value becomes a Python object when it is read. */
#include "binding.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
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
    PyErr_Format(PyExc_TypeError, "frame: invalid value %R (expected a toll.Frame)", object);
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

/* Longest prefix of a metric's name in a column; a longer one, of a path, is cut and not found. */
enum { LEAD_BYTES = 512 };

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
        PyErr_Format(PyExc_KeyError, "figure '%s': not found (did you mean '%s'?)", name, meant);
    else
        PyErr_Format(PyExc_KeyError,
                     "figure '%s': not found (expected a name such as target_cpu_seconds; keys() "
                     "lists all)",
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

/* <Frame 12 after 1.21 s: 350 ms CPU, 101 MiB RSS>; of a snapshot without number and time. */
static PyObject *frame_repr(PyObject *object)
{
    const struct frame *self = (struct frame *)object;
    const struct toll_frame *frame = self->frame;
    char head[128] = "", after[NUMBER_BYTES];
    if (frame->number || frame->elapsed_ns) {
        toll_number_text((double)frame->elapsed_ns / 1e9, "seconds", after, sizeof after);
        snprintf(head, sizeof head, " %llu after %s", (unsigned long long)frame->number, after);
    }
    PyObject *figures = self->first ? row_headline(self->first) : PyUnicode_FromString("no rows");
    PyObject *shown = figures ? PyUnicode_FromFormat("<Frame%s: %U>", head, figures) : NULL;
    Py_XDECREF(figures);
    return shown;
}

/* ---- Copies and pickles -----------------------------------------------------------------------
 */

/* (unpack_frame of the module, (bytes,)): what pickle and multiprocessing use. */
static PyObject *frame_reduce(PyObject *object, PyObject *unused)
{
    (void)unused;
    const struct frame *self = (struct frame *)object;
    void *bytes;
    size_t size;
    int r = toll_frame_pack(self->frame, &bytes, &size);
    if (r < 0)
        return raise_error(r, NULL, "frame: cannot be pickled");
    PyObject *unpack = PyObject_GetAttrString(self->module, "unpack_frame");
    PyObject *reduced =
        unpack ? Py_BuildValue("(N(y#))", unpack, (const char *)bytes, (Py_ssize_t)size) : NULL;
    free(bytes);
    return reduced;
}

/* A frame never changes: a copy of it is the frame itself. */
static PyObject *frame_copy(PyObject *object, PyObject *unused)
{
    (void)unused;
    Py_INCREF(object);
    return object;
}

PyObject *unpack_frame(PyObject *module, PyObject *args)
{
    const char *bytes;
    Py_ssize_t size;
    struct toll_frame *frame = NULL;
    struct toll_error e = {0};
    if (!PyArg_ParseTuple(args, "y#", &bytes, &size))
        return NULL;
    int r = toll_frame_unpack(&frame, bytes, (size_t)size, &e);
    if (r == -EBADMSG || r == -EOPNOTSUPP) /* what is wrong with the value, not with the system */
        return PyErr_Format(PyExc_ValueError, "%s", e.message);
    return r < 0 ? raise_error(r, &e, "packed frame") : frame_object(module, frame);
}

/* (frame, number) → its row of that number; what a pickled row is made of. */
PyObject *frame_row(PyObject *module, PyObject *args)
{
    PyObject *object;
    Py_ssize_t number;
    if (!PyArg_ParseTuple(args, "On", &object, &number))
        return NULL;
    const struct toll_frame *frame = frame_of(module, object);
    if (!frame)
        return NULL;
    const struct toll_row *row = number < 0 ? NULL : toll_frame_row(frame, (size_t)number);
    if (!row)
        return PyErr_Format(PyExc_ValueError, "row %zd: the frame has %zu rows", number,
                            frame->row_count);
    return row_object(module, object, row);
}

/* ---- The type ---------------------------------------------------------------------------------
 */

static const PyGetSetDef facts[] = {
    {"number", get_number, NULL, "Counted per tracker, from 0.", NULL},
    {"time", get_time, NULL, "Time of the sample: seconds since 1970, as time.time().", NULL},
    {"time_ns", get_time_ns, NULL, "Time of the sample: nanoseconds since 1970, as time.time_ns().",
     NULL},
    {"elapsed_seconds", get_elapsed, NULL, "Seconds since the start of the run.", NULL},
    {"interval_seconds", get_interval, NULL, "Actual seconds since the previous frame.", NULL},
    {"missed", get_missed, NULL, "Samples so far that were skipped because they came too late.",
     NULL},
    {"dropped", get_dropped, NULL, "Frames so far that were not taken in time.", NULL},
    {"last", get_last, NULL, "Whether no frame follows.", NULL},
    {"rows", get_rows, NULL, "A Row for each target and its parts, process, disk and so on.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"to_dict", to_dict, METH_NOARGS,
     "to_dict($self)\n--\n\nEvery figure by the name of its column in CSV. Rows of single\n"
     "processes are left out."},
    {"keys", keys, METH_NOARGS, "keys($self)\n--\n\nThe names of the figures in to_dict()."},
    {"__reduce__", frame_reduce, METH_NOARGS, "__reduce__($self)\n--\n\nFor pickle."},
    {"__copy__", frame_copy, METH_NOARGS, "__copy__($self)\n--\n\nThe frame itself."},
    {"__deepcopy__", frame_copy, METH_O, "__deepcopy__($self, memo, /)\n--\n\nThe frame itself."},
    {NULL, NULL, 0, NULL},
};

/* ---- Charts ---------------------------------------------------------------------------------- */

/* (frames, names of charts or None, format, cores allowed, memory limit) → SVG or JSON */
PyObject *draw_frames(PyObject *module, PyObject *args)
{
    PyObject *given, *text = NULL;
    struct toll_drawing how = {.size = sizeof how};
    struct toll_error e = {0};
    char *drawn = NULL;
    int r = 0;
    if (!PyArg_ParseTuple(args, "Ozsdd", &given, &how.charts, &how.format, &how.cores_allowed,
                          &how.memory_limit_bytes))
        return NULL;
    PyObject *list = PySequence_List(given); /* it holds the frames meanwhile */
    if (!list)
        return NULL;
    size_t count = (size_t)PyList_Size(list);
    const struct toll_frame **frames = calloc(count + 1, sizeof *frames);
    bool good = frames || PyErr_NoMemory();
    for (size_t i = 0; good && i < count; i++)
        good = (frames[i] = frame_of(module, PyList_GetItem(list, (Py_ssize_t)i))) != NULL;
    if (good) {
        Py_BEGIN_ALLOW_THREADS r = toll_frames_draw(frames, count, &how, &drawn, &e);
        Py_END_ALLOW_THREADS text = r < 0 ? raise_error(r, &e, "plot: cannot be drawn")
                                          : PyUnicode_DecodeUTF8(drawn, (Py_ssize_t)strlen(drawn),
                                                                 "replace");
    }
    free(drawn);
    free(frames);
    Py_DECREF(list);
    return text;
}

/* Name, title and what it is about, of each chart. */
PyObject *chart_table(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    struct toll_chart chart = {.size = sizeof chart};
    PyObject *all = PyList_New(0);
    for (size_t i = 0; all && toll_chart_at(i, &chart) == 0; i++) {
        PyObject *one = Py_BuildValue("(sss)", chart.name, chart.title, chart.about);
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

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
        "One sample. frame.cpu_seconds is of all targets together, or of the machine\n"
        "when only that is measured; frame['main_cpu_seconds'] goes by the name of a\n"
        "column; frame.rows has everything. What is not known is None, never 0.\n"
        "Frames never change and can be pickled.";
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
