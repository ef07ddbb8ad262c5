/* SPDX-License-Identifier: MIT
 * One more place to write to, before the start. */
#pragma once

#include "engine/tracker.h"

/* A path that ends with a slash is a directory, for a dialect that has several files. */
int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e);

/* Whether an output is such a directory, and one output for each file of the dialect in it, which
 * is made when it is not there. Stops when add() fails. */
bool outputs_is_directory(const struct toll_output *o);
int outputs_each_file(const struct toll_output *o,
                      int (*add)(void *arg, const struct toll_output *one, struct toll_error *e),
                      void *arg, struct toll_error *e);
