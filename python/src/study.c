/* SPDX-License-Identifier: MIT
 * Reports, comparisons and recommendations: texts that libtoll makes of runs in records. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECORDS_AT_MOST = 4096,
    LABELS_AT_MOST = 64,
    GROUPS_AT_MOST = 64,
    CONDITIONS_AT_MOST = 256,
};

/* Sentences that are no errors, one on each line. They come while other threads of Python run. */
struct notes {
    char *text; /* owned; NULL: none */
    size_t length;
};

static void notes_add(void *arg, const char *sentence)
{
    struct notes *n = arg;
    size_t length = strlen(sentence);
    char *text = realloc(n->text, n->length + length + 2);
    if (!text)
        return;
    memcpy(text + n->length, sentence, length);
    memcpy(text + n->length + length, "\n", 2);
    n->text = text;
    n->length += length + 1;
}

/* Strings that a call borrows. */
struct strings {
    const char **items; /* owned array, NULL-terminated */
    PyObject *bytes;    /* what they are in */
};

static bool strings_open(struct strings *s, PyObject *list, size_t at_most)
{
    s->items = calloc(at_most + 1, sizeof *s->items);
    if (!s->items)
        PyErr_NoMemory();
    return s->items && strings_read(list, s->items, at_most + 1, &s->bytes);
}

static void strings_close(struct strings *s)
{
    Py_XDECREF(s->bytes);
    free(s->items);
}

/* (text, [note]) or the error; frees both. */
static PyObject *study_result(int r, char *text, struct notes *notes, const struct toll_error *e,
                              const char *doing)
{
    PyObject *result = NULL;
    if (r < 0) {
        raise_error(r, e, doing);
    } else {
        PyObject *shown = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        PyObject *lines = PyUnicode_DecodeUTF8(notes->text ? notes->text : "",
                                               (Py_ssize_t)notes->length, "replace");
        PyObject *list = lines ? PyUnicode_Splitlines(lines, 0) : NULL;
        Py_XDECREF(lines);
        result = shown && list ? PyTuple_Pack(2, shown, list) : NULL;
        Py_XDECREF(shown);
        Py_XDECREF(list);
    }
    free(text);
    free(notes->text);
    return result;
}

/* (records, name or None, labels, format) */
PyObject *study_recommend(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *records, *labels;
    struct strings paths = {0}, wanted = {0};
    struct notes notes = {0};
    struct toll_recommend asked = {.size = sizeof asked, .note = notes_add, .note_arg = &notes};
    struct toll_error e = {0};
    char *text = NULL;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(args, "OzOs", &records, &asked.name, &labels, &asked.format))
        return NULL;
    if (strings_open(&paths, records, RECORDS_AT_MOST) &&
        strings_open(&wanted, labels, LABELS_AT_MOST)) {
        int r;
        asked.records = paths.items;
        asked.labels = wanted.items;
        Py_BEGIN_ALLOW_THREADS r = toll_recommend(&asked, &text, &e);
        Py_END_ALLOW_THREADS result = study_result(r, text, &notes, &e, "recommend");
    }
    strings_close(&paths);
    strings_close(&wanted);
    return result;
}

/* (groups, where to look them up or None, conditions, format) */
PyObject *study_compare(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *groups, *conditions, *result = NULL;
    struct strings named = {0}, judged = {0};
    struct notes notes = {0};
    struct toll_compare asked = {.size = sizeof asked, .note = notes_add, .note_arg = &notes};
    struct toll_output output = {.size = sizeof output};
    struct toll_error e = {0};
    if (!PyArg_ParseTuple(args, "OzOs", &groups, &asked.in, &conditions, &output.format))
        return NULL;
    asked.curves = strcmp(output.format, "html") == 0;
    if (strings_open(&named, groups, GROUPS_AT_MOST) &&
        strings_open(&judged, conditions, CONDITIONS_AT_MOST)) {
        struct toll_compared *compared = NULL;
        char *text = NULL;
        int r;
        asked.groups = named.items;
        asked.conditions = judged.items;
        Py_BEGIN_ALLOW_THREADS r = toll_compare(&compared, &asked, &e);
        if (r >= 0)
            r = toll_compared_text(compared, &output, &text, &e);
        toll_compared_free(compared);
        Py_END_ALLOW_THREADS result = study_result(r, text, &notes, &e, "compare");
    }
    strings_close(&named);
    strings_close(&judged);
    return result;
}

/* (records, name or None, labels, end of an id or None, number or 0, all, format) */
PyObject *study_report(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *records, *labels, *result = NULL;
    struct strings paths = {0}, wanted = {0};
    struct notes notes = {0};
    struct toll_report asked = {.size = sizeof asked, .note = notes_add, .note_arg = &notes};
    struct toll_output output = {.size = sizeof output};
    struct toll_error e = {0};
    unsigned long long run;
    int all;
    if (!PyArg_ParseTuple(args, "OzOzKps", &records, &asked.name, &labels, &asked.run_id, &run,
                          &all, &output.format))
        return NULL;
    if (strings_open(&paths, records, RECORDS_AT_MOST) &&
        strings_open(&wanted, labels, LABELS_AT_MOST)) {
        char *text = NULL;
        int r;
        asked.records = paths.items;
        asked.labels = wanted.items;
        asked.run = run;
        asked.all = all;
        Py_BEGIN_ALLOW_THREADS r = toll_report(&asked, &output, &text, &e);
        Py_END_ALLOW_THREADS result = study_result(r, text, &notes, &e, "report");
    }
    strings_close(&paths);
    strings_close(&wanted);
    return result;
}
