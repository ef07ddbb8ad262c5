/* SPDX-License-Identifier: MIT
 * One look at a target or at the machine; at this process with files that stay open in between. */
#include "binding.h"

#include <errno.h>

/* (options as for a tracker, kind or -1 for the machine alone, id, text) */
PyObject *look_once(PyObject *module, PyObject *args)
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
    return r < 0 ? raise_error(r, &e, "cannot look at this target") : frame_object(module, frame);
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
        raise_error(r, &e, "cannot look at this process");
        return false;
    }
    toll_probe_free(b->self_probe); /* of the parent, after a fork */
    b->self_probe = probe;
    return true;
}

/* Some microseconds: shorter than handing the GIL over would take, and the GIL is the lock of the
 * one probe. */
PyObject *look_at_self(PyObject *module, PyObject *unused)
{
    (void)unused;
    struct binding *b = binding_of(module);
    if (!b->self_probe && !open_probe(b))
        return NULL;
    struct toll_frame *frame = NULL;
    int r = toll_probe_read(b->self_probe, &frame);
    if (r == -ESRCH && !open_probe(b)) /* the probe was made before a fork */
        return NULL;
    if (r == -ESRCH)
        r = toll_probe_read(b->self_probe, &frame);
    return r < 0 ? raise_error(r, NULL, "cannot look at this process")
                 : frame_object(module, frame);
}
