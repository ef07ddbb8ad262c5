/* SPDX-License-Identifier: MIT
 * How a tracker comes to be, is finished, and goes. */
#pragma once

#include "engine/tracker.h"

/* As toll_tracker_new and toll_tracker_finish say. */
int lifetime_new(struct toll_tracker **ret, const struct toll_options *options,
                 struct toll_error *e);
int lifetime_finish(struct toll_tracker *t);

/* 0, or -ESRCH and a sentence in a fork. */
int lifetime_check_owner(const struct toll_tracker *t, struct toll_error *e);

/* Closes and frees everything but the tracker itself. */
void lifetime_close(struct toll_tracker *t);
