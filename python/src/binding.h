/* SPDX-License-Identifier: MIT
 * What the files of the extension module share. Objects hold a reference to their module: the
 * stable ABI of 3.8 gives a type no other way to it, and each interpreter has a module of its own.
 */
#ifndef TOLL_BINDING_H
#define TOLL_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "toll_compat.h"

#include <sys/types.h>

enum { QUICK_NAMES = 512, QUICK_TRIES = 2 };

struct quick_name {
    PyObject *name; /* owned, interned; or NULL */
    const struct figure_name *figure;
};

struct binding {
    PyTypeObject *tracker_type;
    PyTypeObject *frame_type;
    PyTypeObject *row_type;
    PyTypeObject *translator_type;
    struct toll_probe *self_probe; /* owned; opened at the first snapshot, and again after a fork */
    struct quick_name frame_names[QUICK_NAMES + QUICK_TRIES];
    PyMethodDef snapshot;    /* toll.snapshot, */
    PyObject *snapshot_text; /* what help() shows of it, and */
    PyObject *snapshot_function; /* what does it when there are arguments; both owned */
};

static inline struct binding *binding_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* The last that is done to an object of one of our types, when it holds nothing but its module. */
void object_release(PyObject *object, PyObject *module);

/* Errors and figures of libtoll as Python's. */
PyObject *raise_error(int code, const struct toll_error *e, const char *doing);
PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
bool is_whole(const struct toll_metric *metric);
PyObject *figure_object(double value, bool whole);

/* Frames and rows. */
PyTypeObject *frame_type_new(struct quick_name *names);
PyTypeObject *row_type_new(void);
PyObject *frame_object(PyObject *module, struct toll_frame *frame); /* takes the frame */
/* What a Frame holds; NULL: it is none, raised. */
const struct toll_frame *frame_of(PyObject *module, PyObject *object);
PyObject *row_object(PyObject *module, PyObject *frame, const struct toll_row *row);
PyObject *unpack_frame(PyObject *module, PyObject *args);
PyObject *frame_row(PyObject *module, PyObject *args);
PyObject *draw_frames(PyObject *module, PyObject *args);
PyObject *chart_table(PyObject *module, PyObject *unused);

/* Room for a number as people read it. */
enum { NUMBER_BYTES = 64 };
/* The figures that are shown of a row first: "350 ms CPU, 101 MiB RSS". */
PyObject *row_headline(const struct toll_row *row);

/* A figure by the name it has in this row; raises kind (borrowed) when it can have no such one. */
PyObject *row_figure(const struct toll_row *row, const char *name, PyObject *kind);
/* An attribute for each metric of these entities, after those of the type itself. */
PyGetSetDef *metric_attributes(const PyGetSetDef *first, getter get, const char *const *entities);
/* What the getter of such an attribute was given. */
struct figure_name {
    const char *name;
    size_t index; /* among the metrics of the entity it was found at */
    bool whole;
};
/* Such attributes, by objects that are names; NULL: not that way. */
bool quick_names_fill(struct quick_name *table, const PyGetSetDef *attributes, getter get);
const struct figure_name *quick_names_find(const struct quick_name *table, PyObject *name);
void quick_names_clear(struct quick_name *table);

/* At its place in the row, or wherever another kind of row has it. */
static inline PyObject *row_attribute(const struct toll_row *row, const struct figure_name *figure)
{
    double value;
    const struct toll_metric *metric = row ? toll_row_at(row, figure->index, &value) : NULL;
    return metric && metric->name == figure->name
               ? figure_object(value, figure->whole)
               : row_figure(row, figure->name, PyExc_AttributeError);
}

/* Trackers. */
PyTypeObject *tracker_type_new(void);
PyObject *tracker_object(PyObject *module, PyObject *args);

/* Marks. */
PyObject *send_mark(struct toll_tracker *t, PyObject *args);

/* Options and targets as the Python side hands them over. */
struct asked {
    struct toll_options options;
    PyObject *label_bytes;
    const char *labels[65];
};
/* (interval_ns, metrics, name, labels, memory, processes, children, system, network, since_start,
 * history, without_self, show_secrets, gpus); false: raised. To be ended by asked_done in both
 * cases. */
bool asked_read(struct asked *asked, PyObject *tuple);
void asked_done(struct asked *asked);
/* A list of str, or bytes for paths, as an array of C strings, NULL-terminated; they live in *ret_bytes. */
bool strings_read(PyObject *list, const char **ret, size_t capacity, PyObject **ret_bytes);

/* Layouts. */
PyObject *layout_tables(PyObject *module, PyObject *unused);
PyTypeObject *translator_type_new(void);
PyObject *translator_object(PyObject *module, PyObject *args);

/* Code blocks of finished runs. */
PyObject *phases_analyze(PyObject *module, PyObject *args);
PyObject *phases_combine(PyObject *module, PyObject *args);
PyObject *phases_compare(PyObject *module, PyObject *args);
PyObject *phases_store(PyObject *module, PyObject *args);
PyObject *phases_unpickle(PyObject *module, PyObject *args);
PyObject *record_lines(PyObject *module, PyObject *args);

/* Several runs at once. */
PyObject *study_compare(PyObject *module, PyObject *args);
PyObject *study_recommend(PyObject *module, PyObject *args);
PyObject *study_report(PyObject *module, PyObject *args);

/* Snapshots. */
PyObject *snapshot_once(PyObject *module, PyObject *args);
PyObject *make_snapshot(PyObject *module, PyObject *args);

#endif
