/* SPDX-License-Identifier: MIT
 * Runs that were measured before: records, and files of code blocks. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

/* (path, run or 0, descriptor): the lines of the record, whatever file it is in. */
PyObject *record_lines(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path = NULL;
    unsigned long long run;
    struct toll_output output = {.size = sizeof output, .format = "jsonl"};
    const struct toll_output *const outputs[] = {&output, NULL};
    struct toll_export asked = {.size = sizeof asked, .outputs = outputs};
    struct toll_error e = {0};
    int r;
    if (!PyArg_ParseTuple(args, "O&Ki", PyUnicode_FSConverter, &path, &run, &output.fd))
        return NULL;
    asked.record = PyBytes_AsString(path);
    asked.run = run;
    Py_BEGIN_ALLOW_THREADS r = toll_record_export(&asked, &e);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (r < 0)
        return raise_error(r, &e, "record: cannot be read");
    Py_RETURN_NONE;
}

/* ---- Code blocks --------------------------------------------------------------------------- */

/* Takes the text. */
static PyObject *text_object(char *text)
{
    PyObject *object = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    free(text);
    return object;
}

/* (points, blocks or None, format) */
PyObject *phases_analyze(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *points = NULL, *blocks = NULL, *given;
    const char *format;
    char *text = NULL;
    struct toll_error e = {0};
    int r;
    if (!PyArg_ParseTuple(args, "O&Os", PyUnicode_FSConverter, &points, &given, &format))
        return NULL;
    if (given != Py_None && !PyUnicode_FSConverter(given, &blocks)) {
        Py_DECREF(points);
        return NULL;
    }
    const char *points_path = PyBytes_AsString(points);
    const char *blocks_path = blocks ? PyBytes_AsString(blocks) : NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_phases_analyze(points_path, blocks_path, format, &text, &e);
    Py_END_ALLOW_THREADS Py_DECREF(points);
    Py_XDECREF(blocks);
    return r < 0 ? raise_error(r, &e, "sub-tracking: cannot analyze the files") : text_object(text);
}

enum { FILES_AT_MOST = 4096 };

/* (destination, files) */
PyObject *phases_combine(PyObject *module, PyObject *args)
{
    (void)module;
    const char *destination;
    PyObject *files, *bytes = NULL;
    struct toll_error e = {0};
    int r = -1;
    if (!PyArg_ParseTuple(args, "sO", &destination, &files))
        return NULL;
    const char **paths = calloc(FILES_AT_MOST, sizeof *paths);
    if (!paths)
        return PyErr_NoMemory();
    bool good = strings_read(files, paths, FILES_AT_MOST, &bytes);
    if (good) {
        Py_BEGIN_ALLOW_THREADS r = toll_phases_combine(destination, paths, &e);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(bytes);
    free(paths);
    if (!good)
        return NULL;
    if (r < 0)
        return raise_error(r, &e, "sub-tracking: cannot combine the files");
    Py_RETURN_NONE;
}

/* (points, destination) */
PyObject *phases_store(PyObject *module, PyObject *args)
{
    (void)module;
    const char *points, *destination;
    struct toll_error e = {0};
    int r;
    if (!PyArg_ParseTuple(args, "ss", &points, &destination))
        return NULL;
    Py_BEGIN_ALLOW_THREADS r = toll_phases_store(points, destination, &e);
    Py_END_ALLOW_THREADS if (r < 0) return raise_error(r, &e, "tracking file: cannot be stored");
    Py_RETURN_NONE;
}

/* (path) → the JSON of what is in it */
PyObject *phases_unpickle(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path = NULL;
    struct toll_error e = {0};
    char *text = NULL;
    int r;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    const char *name = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS r = toll_pickle_to_json(name, &text, &e);
    Py_END_ALLOW_THREADS Py_DECREF(path);
    return r < 0 ? raise_error(r, &e, "pickle: cannot be read") : text_object(text);
}

static void keep_note(void *list, const char *sentence)
{
    PyObject *note = PyUnicode_FromString(sentence);
    if (!note || PyList_Append(list, note) < 0)
        PyErr_Clear();
    Py_XDECREF(note);
}

/* ("NAME=FILE" of each, statistic, format) → (text, notes) */
PyObject *phases_compare(PyObject *module, PyObject *args)
{
    (void)module;
    struct toll_comparison asked = {.size = sizeof asked, .note = keep_note};
    PyObject *sessions, *bytes = NULL;
    const char *texts[65];
    char *text = NULL;
    struct toll_error e = {0};
    if (!PyArg_ParseTuple(args, "Oss", &sessions, &asked.statistic, &asked.format) ||
        !strings_read(sessions, texts, sizeof texts / sizeof texts[0], &bytes))
        return NULL;
    PyObject *notes = PyList_New(0);
    if (!notes) {
        Py_DECREF(bytes);
        return NULL;
    }
    asked.sessions = texts;
    asked.note_arg = notes;
    int r = toll_phases_compare(&asked, &text, &e); /* notes need the GIL */
    Py_DECREF(bytes);
    if (r < 0) {
        Py_DECREF(notes);
        return raise_error(r, &e, "sub-tracking: cannot compare the files");
    }
    return Py_BuildValue("(NN)", text_object(text), notes);
}
