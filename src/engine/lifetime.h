/* SPDX-License-Identifier: MIT
 * How a tracker comes to be, is finished, and goes. */
#pragma once

#include "engine/tracker.h"

/* As toll_tracker_new and toll_tracker_finish say. */
int lifetime_new(struct toll_tracker **ret, const struct toll_options *options,
                 struct toll_error *e);
int lifetime_finish(struct toll_tracker *t);

/* Closes and frees everything but the tracker itself. */
void lifetime_close(struct toll_tracker *t);
