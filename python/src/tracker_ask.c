/* SPDX-License-Identifier: MIT
 * What may be asked of a tracker from any thread, also while it is being finished. */
#include "binding.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

PyObject *tracker_wait(PyObject *object, PyObject *args)
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
    return r < 0 ? raise_error(r, NULL, "cannot wait") : PyBool_FromLong(r == 0);
}

PyObject *tracker_report(PyObject *object, PyObject *args)
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
        return raise_error(r, &e, "cannot make a report");
    PyObject *text = PyUnicode_DecodeUTF8(report, (Py_ssize_t)strlen(report), "replace");
    free(report);
    return text;
}

PyObject *tracker_figure(PyObject *object, PyObject *args)
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
    return r < 0 ? raise_error(r, NULL, "cannot tell a figure") : figure;
}

PyObject *tracker_frame(PyObject *object, PyObject *unused)
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
    return r < 0 ? raise_error(r, NULL, "cannot tell a frame") : frame_object(self->module, frame);
}

PyObject *tracker_next_frame(PyObject *object, PyObject *args)
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
    return r < 0 ? raise_error(r, NULL, "cannot tell a frame") : frame_object(self->module, frame);
}

PyObject *tracker_mark(PyObject *object, PyObject *args)
{
    struct tracker *self = (struct tracker *)object;
    if (!tracker_enter(self))
        return NULL;
    PyObject *taken = send_mark(self->t, args);
    tracker_leave(self);
    return taken;
}
