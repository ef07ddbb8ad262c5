/* SPDX-License-Identifier: MIT
 * Runs that were measured before. */
#include "binding.h"

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
        return raise_error(r, &e, "cannot read this record");
    Py_RETURN_NONE;
}
