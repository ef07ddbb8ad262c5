/* SPDX-License-Identifier: MIT
 * toll._toll: libtoll for Python, with the stable ABI of 3.8. The package around it is what
 * programs use. Nothing here is ever called by libtoll's threads: frames are pulled. */
#include "binding.h"

#include <math.h>
#include <stdlib.h>

static PyObject *metrics(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *all = PyList_New(0);
    const struct toll_metric *m;
    for (size_t i = 0; all && (m = toll_metric_at(i)); i++) {
        PyObject *one = Py_BuildValue("(ssssssssss)", m->entity, m->name, m->title, m->kind,
                                      m->unit, m->fold, m->cost, m->source, m->otel, m->help);
        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

static PyObject *formats(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *all = PyList_New(0);
    const struct toll_format *f;
    for (size_t i = 0; all && (f = toll_format_at(i)); i++) {
        PyObject *name = PyUnicode_FromString(f->name);
        if (!name || PyList_Append(all, name) < 0)
            Py_CLEAR(all);
        Py_XDECREF(name);
    }
    return all;
}

/* (number or None, unit) → as the summary for people shows it. */
static PyObject *number_text(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *number;
    const char *unit;
    char text[NUMBER_BYTES];
    if (!PyArg_ParseTuple(args, "Os", &number, &unit))
        return NULL;
    double value = number == Py_None ? (double)NAN : PyFloat_AsDouble(number);
    if (PyErr_Occurred())
        return NULL;
    if (!toll_number_text(value, unit, text, sizeof text))
        return PyErr_Format(PyExc_ValueError, "unit '%s': unknown (expected one of toll.metrics())",
                            unit);
    return PyUnicode_FromString(text);
}

static PyObject *mark(PyObject *module, PyObject *args)
{
    (void)module;
    return send_mark(NULL, args);
}

static PyMethodDef functions[] = {
    {"tracker", tracker_object, METH_VARARGS, "A Tracker with these options."},
    {"snapshot_once", snapshot_once, METH_VARARGS, "A Frame of a target, or of the machine."},
    {"make_snapshot", make_snapshot, METH_VARARGS, "What toll.snapshot is."},
    {"unpack_frame", unpack_frame, METH_VARARGS, "A Frame from the bytes of a pickled one."},
    {"frame_row", frame_row, METH_VARARGS, "The row of a frame with this number."},
    {"draw_frames", draw_frames, METH_VARARGS, "Charts of frames, as SVG or JSON."},
    {"charts", chart_table, METH_NOARGS, "The charts that can be drawn, as tuples."},
    {"number_text", number_text, METH_VARARGS, "A number as the summary for people shows it."},
    {"mark", mark, METH_VARARGS, "A mark for the toll run around this process."},
    {"layouts", layout_tables, METH_NOARGS, "The tables of layouts, as tuples."},
    {"translator", translator_object, METH_VARARGS, "A Translator into a layout."},
    {"phases_analyze", phases_analyze, METH_VARARGS, "What code blocks used, as text or JSON."},
    {"phases_combine", phases_combine, METH_VARARGS, "Several sub-tracking files into one."},
    {"phases_store", phases_store, METH_VARARGS, "A tracking file, CSV, in SQLite."},
    {"pickle_to_json", phases_unpickle, METH_VARARGS,
     "The data in a pickle of gpu_tracker's; nothing in it is run."},
    {"record_lines", record_lines, METH_VARARGS, "A record, written to a descriptor as JSONL."},
    {"phases_compare", phases_compare, METH_VARARGS, "Runs side by side, and notes."},
    {"compare", study_compare, METH_VARARGS, "Groups of runs side by side, and notes."},
    {"recommend", study_recommend, METH_VARARGS, "What to request next time, and notes."},
    {"report", study_report, METH_VARARGS, "A report of runs, and notes."},
    {"metrics", metrics, METH_NOARGS, "The table of metrics, as tuples."},
    {"formats", formats, METH_NOARGS, "The names of formats that can be written."},
    {NULL, NULL, 0, NULL},
};

/* Adds the type under its name and keeps it in *ret. */
static bool add_type(PyObject *module, const char *name, PyTypeObject *type, PyTypeObject **ret)
{
    *ret = type;
    if (!type)
        return false;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, (PyObject *)type) == 0)
        return true;
    Py_DECREF(type);
    return false;
}

static int fill(PyObject *module)
{
    struct binding *b = binding_of(module);
    if (!add_type(module, "Row", row_type_new(), &b->row_type) ||
        !add_type(module, "Frame", frame_type_new(b->frame_names), &b->frame_type) ||
        !add_type(module, "Tracker", tracker_type_new(), &b->tracker_type) ||
        !add_type(module, "Translator", translator_type_new(), &b->translator_type))
        return -1;
    return PyModule_AddStringConstant(module, "version", toll_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct binding *b = binding_of(module);
    if (!b)
        return 0;
    Py_VISIT(b->row_type);
    Py_VISIT(b->frame_type);
    Py_VISIT(b->tracker_type);
    Py_VISIT(b->translator_type);
    Py_VISIT(b->snapshot_function);
    return 0;
}

static int clear(PyObject *module)
{
    struct binding *b = binding_of(module);
    if (!b)
        return 0;
    Py_CLEAR(b->row_type);
    Py_CLEAR(b->frame_type);
    Py_CLEAR(b->tracker_type);
    Py_CLEAR(b->translator_type);
    Py_CLEAR(b->snapshot_function);
    quick_names_clear(b->frame_names);
    return 0;
}

static void release(void *module)
{
    struct binding *b = binding_of(module);
    if (!b)
        return;
    clear(module);
    Py_CLEAR(b->snapshot_text);
    toll_probe_free(b->self_probe);
    b->self_probe = NULL;
}

/* The second row is for 3.12 and later, which older ones would refuse: interpreters with a GIL of
 * their own may have this module. Its number and value stand in every later version. */
enum { MULTIPLE_INTERPRETERS = 3, OWN_GIL_SUPPORTED = 2 };
static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill},
    {0, NULL},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "toll._toll",
    .m_doc = "libtoll; programs use the package toll.",
    .m_size = sizeof(struct binding),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__toll(void)
{
    char *rest;
    long major = strtol(Py_GetVersion(), &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    if (major > 3 || minor >= 12)
        slots[1] = (PyModuleDef_Slot){MULTIPLE_INTERPRETERS, (void *)OWN_GIL_SUPPORTED};
    return PyModuleDef_Init(&definition);
}
