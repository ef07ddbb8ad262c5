/* SPDX-License-Identifier: MIT
 * One more place to write to, before the start. */
#pragma once

#include "engine/tracker.h"

/* A path that ends with a slash is a directory, for a dialect that has several files. */
int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e);
