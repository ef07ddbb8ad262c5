/* SPDX-License-Identifier: MIT
 * What can be done with the files of code blocks, for both commands that do it: toll phases and
 * gpu-tracker sub-track. */
#pragma once

#include "toll_compat.h"

/* What the library is asked for to give a format: pickles are made of json here. */
const char *phase_format(const char *format);

/* The results into a file, or on stdout when output is NULL, there with a newline behind a text. A
 * file comes into being whole or not at all. 0, or -errno and a sentence. */
int phase_deliver(const char *text, const char *format, const char *output, struct toll_error *e);

/* Combines the files, or what is in the directory when it is but one. */
int phase_combine(const char *destination, const char *const *paths, struct toll_error *e);
