/* SPDX-License-Identifier: MIT
 * Tracker: a toll_tracker in the background, with the GIL released around every call that may wait.
 * Threads may ask while another one closes it: the last to leave frees it. */
#include "binding.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tracker {
    PyObject_HEAD PyObject *module; /* owned */
    struct toll_tracker *t;         /* owned; NULL once it was closed */
    pid_t owner;                    /* the process it belongs to */
    unsigned users;                 /* calls that are in the library now, without the GIL */
    bool working;                   /* one of them is not for any thread */
    bool closing;                   /* the last user frees it */
    bool finished;                  /* with this result; */
    bool ended;                     /* whether all targets had ended by then */
    int result;
};

/* Between these two the tracker is there, whatever other threads do; false: raised. */
static bool tracker_enter(struct tracker *self)
{
    if (self->owner != getpid()) {
        PyErr_SetString(PyExc_RuntimeError, "track: this tracker belongs to the parent process");
        return false;
    }
    if (!self->t || self->closing) {
        PyErr_SetString(PyExc_RuntimeError, "track: this tracker is closed");
        return false;
    }
    self->users++;
    return true;
}

static void tracker_leave(struct tracker *self)
{
    self->users--;
    if (!self->closing || self->users || !self->t)
        return;
    struct toll_tracker *t = self->t;
    self->t = NULL;
    Py_BEGIN_ALLOW_THREADS toll_tracker_free(t);
    Py_END_ALLOW_THREADS
}

/* The calls of this file are for one thread at a time. */
static bool tracker_begin_work(struct tracker *self)
{
    if (self->working && self->owner == getpid()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "track: another thread is starting or stopping this tracker");
        return false;
    }
    if (!tracker_enter(self))
        return false;
    self->working = true;
    return true;
}

static void tracker_end_work(struct tracker *self)
{
    self->working = false;
    tracker_leave(self);
}

PyObject *tracker_object(PyObject *module, PyObject *args)
{
    struct asked asked;
    struct toll_tracker *t = NULL;
    struct toll_error e = {0};
    int r = -1;
    bool good = asked_read(&asked, args);
    if (good) {
        Py_BEGIN_ALLOW_THREADS r = toll_tracker_new(&t, &asked.options, &e);
        Py_END_ALLOW_THREADS
    }
    asked_done(&asked);
    if (!good)
        return NULL;
    if (r < 0)
        return raise_error(r, &e, "track: cannot create a tracker");
    struct tracker *self = (struct tracker *)PyType_GenericAlloc(binding_of(module)->tracker_type,
                                                                 0);
    if (!self) {
        toll_tracker_free(t);
        return NULL;
    }
    Py_INCREF(module);
    self->module = module;
    self->t = t;
    self->owner = getpid();
    return (PyObject *)self;
}

static void tracker_dealloc(PyObject *object)
{
    struct tracker *self = (struct tracker *)object;
    if (self->t && self->owner == getpid()) {
        Py_BEGIN_ALLOW_THREADS toll_tracker_free(self->t);
        Py_END_ALLOW_THREADS
    }
    object_release(object, self->module);
}

static PyObject *tracker_add_target(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_target target = {.size = sizeof target};
    struct toll_error e = {0};
    int kind, id;
    if (!PyArg_ParseTuple(args, "iziz", &kind, &target.name, &id, &target.text) ||
        !tracker_begin_work(self))
        return NULL;
    target.kind = (enum toll_target_kind)kind;
    target.id = id;
    int r;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_add_target(self->t, &target, &e);
    Py_END_ALLOW_THREADS tracker_end_work(self);
    if (r < 0)
        return raise_error(r, &e, "track: cannot measure this target");
    Py_RETURN_NONE;
}

static PyObject *tracker_add_output(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_output output = {.size = sizeof output};
    struct toll_error e = {0};
    PyObject *path = NULL;
    if (!PyArg_ParseTuple(args, "O&zz", PyUnicode_FSConverter, &path, &output.format,
                          &output.layout))
        return NULL;
    if (!tracker_begin_work(self)) {
        Py_DECREF(path);
        return NULL;
    }
    output.destination = PyBytes_AsString(path);
    int r;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_add_output(self->t, &output, &e);
    Py_END_ALLOW_THREADS tracker_end_work(self);
    Py_DECREF(path);
    if (r < 0)
        return raise_error(r, &e, "output: cannot be opened");
    Py_RETURN_NONE;
}

static PyObject *tracker_count_gpus(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_error e = {0};
    const char *gpus;
    if (!PyArg_ParseTuple(args, "s", &gpus) || !tracker_begin_work(self))
        return NULL;
    int r = toll_tracker_count_gpus(self->t, gpus, &e);
    tracker_end_work(self);
    if (r < 0)
        return raise_error(r, &e, "gpus: cannot be selected");
    Py_RETURN_NONE;
}

static PyObject *tracker_keep_backup(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_error e = {0};
    const char *layout;
    PyObject *path = NULL;
    if (!PyArg_ParseTuple(args, "O&s", PyUnicode_FSConverter, &path, &layout))
        return NULL;
    if (!tracker_begin_work(self)) {
        Py_DECREF(path);
        return NULL;
    }
    int r = toll_tracker_keep_backup(self->t, PyBytes_AsString(path), layout, &e);
    tracker_end_work(self);
    Py_DECREF(path);
    if (r < 0)
        return raise_error(r, &e, "backup: cannot be written");
    Py_RETURN_NONE;
}

static PyObject *tracker_start(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct tracker *self = (struct tracker *)object;
    struct toll_error e = {0};
    if (!tracker_begin_work(self))
        return NULL;
    int r;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_start(self->t, &e);
    Py_END_ALLOW_THREADS tracker_end_work(self);
    if (r < 0)
        return raise_error(r, &e, "track: cannot start");
    Py_RETURN_NONE;
}

static PyObject *tracker_finish(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct tracker *self = (struct tracker *)object;
    if (!tracker_begin_work(self))
        return NULL;
    /* Once: an interrupt may come between this and what its caller does with the result. */
    if (!self->finished) {
        struct toll_end end = {.size = sizeof end};
        bool has_ended;
        Py_BEGIN_ALLOW_THREADS self->result = toll_tracker_finish(self->t, &end);
        has_ended = toll_tracker_wait(self->t, 0) == 0;
        Py_END_ALLOW_THREADS self->ended = end.ended || has_ended;
        self->finished = true;
    }
    int r = self->result;
    tracker_end_work(self);
    return PyLong_FromLong(r);
}

static PyObject *tracker_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct tracker *self = (struct tracker *)object;
    if (self->t && !self->closing && self->owner == getpid() && tracker_enter(self)) {
        self->closing = true;
        tracker_leave(self);
    }
    Py_RETURN_NONE;
}

/* ---- From any thread, also while it is being finished ---------------------------------------- */

static PyObject *tracker_wait(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    int timeout_ms, r;
    if (!PyArg_ParseTuple(args, "i", &timeout_ms) || !tracker_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_wait(self->t, timeout_ms);
    Py_END_ALLOW_THREADS bool finished = self->finished, ended = self->ended;
    tracker_leave(self);
    if (finished)
        return PyBool_FromLong(ended);
    return r < 0 ? raise_error(r, NULL, "track: cannot wait") : PyBool_FromLong(r == 0);
}

static PyObject *tracker_report(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_output like = {.size = sizeof like};
    char *report = NULL;
    struct toll_error e = {0};
    int r;
    if (!PyArg_ParseTuple(args, "s|z", &like.format, &like.layout) || !tracker_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_report_as(self->t, &like, &report, &e);
    Py_END_ALLOW_THREADS tracker_leave(self);
    if (r < 0)
        return raise_error(r, &e, "report: cannot be written");
    PyObject *text = PyUnicode_DecodeUTF8(report, (Py_ssize_t)strlen(report), "replace");
    free(report);
    return text;
}

static PyObject *tracker_figure(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_figure f = {.size = sizeof f};
    const char *name;
    int r;
    if (!PyArg_ParseTuple(args, "s", &name) || !tracker_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_figure(self->t, name, &f);
    Py_END_ALLOW_THREADS PyObject *figure = NULL;
    if (r == 0)
        figure = Py_BuildValue(
            "(NNNNNNss)", figure_object(f.total, false), figure_object(f.last, false),
            figure_object(f.min, false), figure_object(f.max, false), figure_object(f.mean, false),
            figure_object(f.max_at_ns == UINT64_MAX ? (double)NAN : (double)f.max_at_ns / 1e9,
                          false),
            f.quality_word, f.from);
    tracker_leave(self);
    if (r == -ENOENT)
        Py_RETURN_NONE;
    return r < 0 ? raise_error(r, NULL, "figure: cannot be read") : figure;
}

static PyObject *tracker_frame(PyObject *object, PyObject *unused)
{
    (void)unused;
    struct tracker *self = (struct tracker *)object;
    struct toll_frame *frame = NULL;
    int r;
    if (!tracker_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_frame(self->t, &frame);
    Py_END_ALLOW_THREADS tracker_leave(self);
    if (r == -EAGAIN)
        Py_RETURN_NONE;
    return r < 0 ? raise_error(r, NULL, "frame: cannot be read")
                 : frame_object(self->module, frame);
}

static PyObject *tracker_next_frame(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    struct toll_frame *frame = NULL;
    int timeout_ms, r;
    if (!PyArg_ParseTuple(args, "i", &timeout_ms) || !tracker_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_tracker_next_frame(self->t, timeout_ms, &frame);
    Py_END_ALLOW_THREADS tracker_leave(self);
    if (r == 1)
        Py_RETURN_NONE;
    return r < 0 ? raise_error(r, NULL, "frame: cannot be read")
                 : frame_object(self->module, frame);
}

static PyObject *tracker_mark(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    if (!tracker_enter(self))
        return NULL;
    PyObject *taken = send_mark(self->t, args);
    tracker_leave(self);
    return taken;
}

/* ---- The type -------------------------------------------------------------------------------- */

static PyMethodDef tracker_methods[] = {
    {"add_target", tracker_add_target, METH_VARARGS,
     "add_target($self, kind, name, id, text, /)\n--\n\n"},
    {"add_output", tracker_add_output, METH_VARARGS,
     "add_output($self, path, format, layout, /)\n--\n\n"},
    {"count_gpus", tracker_count_gpus, METH_VARARGS,
     "count_gpus($self, gpus, /)\n--\n\nThose whose utilisation is added up."},
    {"keep_backup", tracker_keep_backup, METH_VARARGS,
     "keep_backup($self, path, layout, /)\n--\n\nA pickle of the results so far."},
    {"start", tracker_start, METH_NOARGS, "start($self, /)\n--\n\nBegin to measure."},
    {"finish", tracker_finish, METH_NOARGS,
     "finish($self, /)\n--\n\nThe last sample, and the summary to every output. 0, or the "
     "negative\n"
     "number of an output's failure."},
    {"close", tracker_close, METH_NOARGS, "close($self, /)\n--\n\nEnd its thread and free it."},
    {"wait", tracker_wait, METH_VARARGS,
     "wait($self, timeout_ms, /)\n--\n\nWhether all targets have ended within that time."},
    {"report", tracker_report, METH_VARARGS,
     "report($self, format, layout=None, /)\n--\n\nThe summary as it is now, 'text' or 'json'."},
    {"figure", tracker_figure, METH_VARARGS,
     "figure($self, name, /)\n--\n\n(total, last, min, max, mean, seconds of the max, quality,\n"
     "from), or None when there is no such figure."},
    {"frame", tracker_frame, METH_NOARGS, "frame($self, /)\n--\n\nThe last frame, or None."},
    {"next_frame", tracker_next_frame, METH_VARARGS,
     "next_frame($self, timeout_ms, /)\n--\n\nThe oldest frame not taken yet, or None."},
    {"mark", tracker_mark, METH_VARARGS, "mark($self, kind, name, value, attributes, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *tracker_type_new(void)
{
    static char doc[] = "A tracker in the background. Python programs use toll.track().";
    PyType_Slot slots[] = {
        {Py_tp_doc, doc},
        {Py_tp_new, refuse_new},
        {Py_tp_dealloc, tracker_dealloc},
        {Py_tp_methods, tracker_methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = "toll._toll.Tracker",
        .basicsize = sizeof(struct tracker),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
