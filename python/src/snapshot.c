/* SPDX-License-Identifier: MIT
 * Snapshots of a target or of the machine; those of this process keep their files open. */
#include "binding.h"

#include <errno.h>

/* METH_FASTCALL: in the stable ABI since 3.10 only, but as it was in 3.7. */
enum { FAST_CALL = 0x80 };

/* (options as for a tracker, kind or -1 for the machine alone, id, text) */
PyObject *snapshot_once(PyObject *module, PyObject *args)
{
    PyObject *options;
    int kind, id;
    struct toll_target target = {.size = sizeof target};
    struct toll_frame *frame = NULL;
    struct toll_error e = {0};
    struct asked asked;
    if (!PyArg_ParseTuple(args, "O!iiz", &PyTuple_Type, &options, &kind, &id, &target.text))
        return NULL;
    target.kind = kind < 0 ? TOLL_TARGET_PROCESS : (enum toll_target_kind)kind;
    target.id = id;
    int r = -1;
    bool good = asked_read(&asked, options);
    if (good) {
        Py_BEGIN_ALLOW_THREADS r = toll_snapshot(&frame, kind < 0 ? NULL : &target, &asked.options,
                                                 &e);
        Py_END_ALLOW_THREADS
    }
    asked_done(&asked);
    if (!good)
        return NULL;
    return r < 0 ? raise_error(r, &e, "snapshot: cannot read the target")
                 : frame_object(module, frame);
}

static bool open_probe(struct binding *b)
{
    struct toll_target self = {.size = sizeof self};
    struct toll_options options = {
        .size = sizeof options,
        .memory = TOLL_MEMORY_RSS,
        .processes = TOLL_PROCESSES_NONE,
        .no_children = true,
    };
    struct toll_error e = {0};
    struct toll_probe *probe = NULL;
    int r = toll_probe_new(&probe, &self, &options, &e);
    if (r < 0) {
        raise_error(r, &e, "snapshot: cannot read this process");
        return false;
    }
    toll_probe_free(b->self_probe); /* of the parent, after a fork */
    b->self_probe = probe;
    return true;
}

/* Some microseconds: shorter than handing the GIL over would take, and the GIL is the lock of the
 * one probe. */
static PyObject *snapshot_self(PyObject *module)
{
    struct binding *b = binding_of(module);
    if (!b->self_probe && !open_probe(b))
        return NULL;
    struct toll_frame *frame = NULL;
    int r = toll_probe_read(b->self_probe, &frame);
    if (r == -ESRCH && !open_probe(b)) /* the probe was made before a fork */
        return NULL;
    if (r == -ESRCH)
        r = toll_probe_read(b->self_probe, &frame);
    return r < 0 ? raise_error(r, NULL, "snapshot: cannot read this process")
                 : frame_object(module, frame);
}

/* In the calling convention of 3.7 and later: the values of keywords follow the count others, their
 * names are in a tuple. */
static PyObject *snapshot_with(PyObject *look, PyObject *const *values, Py_ssize_t count,
                               PyObject *names)
{
    PyObject *args = PyTuple_New(count), *kwargs = PyDict_New(), *frame = NULL;
    bool good = args && kwargs;
    for (Py_ssize_t i = 0; good && i < count; i++) {
        Py_INCREF(values[i]);
        good = PyTuple_SetItem(args, i, values[i]) == 0;
    }
    for (Py_ssize_t i = 0; good && names && i < PyTuple_Size(names); i++)
        good = PyDict_SetItem(kwargs, PyTuple_GetItem(names, i), values[count + i]) == 0;
    if (good)
        frame = PyObject_Call(look, args, kwargs);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return frame;
}

static PyObject *snapshot(PyObject *module, PyObject *const *values, Py_ssize_t count,
                          PyObject *names)
{
    return !count && !names
               ? snapshot_self(module)
               : snapshot_with(binding_of(module)->snapshot_function, values, count, names);
}

/* (function, text, package) → a function that does the same, and without arguments reads this
 * process with no Python in between. It belongs to the module, which holds what it needs: there is
 * one for each interpreter. */
PyObject *make_snapshot(PyObject *module, PyObject *args)
{
    struct binding *b = binding_of(module);
    PyObject *look, *text, *package;
    if (!PyArg_ParseTuple(args, "OUU", &look, &text, &package))
        return NULL;
    if (b->snapshot_function)
        return PyErr_Format(PyExc_RuntimeError, "snapshot: exists already");
    b->snapshot_text = PyUnicode_AsUTF8String(text);
    if (!b->snapshot_text)
        return NULL;
    Py_INCREF(look);
    b->snapshot_function = look;
    b->snapshot = (PyMethodDef){
        .ml_name = "snapshot",
        .ml_meth = (PyCFunction)(void (*)(void))snapshot,
        .ml_flags = FAST_CALL | METH_KEYWORDS,
        .ml_doc = PyBytes_AsString(b->snapshot_text),
    };
    return PyCFunction_NewEx(&b->snapshot, module, package);
}
