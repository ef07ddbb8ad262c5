/* SPDX-License-Identifier: MIT
 * The beginning of a run that measures what is there already. */
#pragma once

#include "engine/tracker.h"

/* Finds the members and takes what they have used so far as the base. -ESRCH and a sentence when a
 * target has none. */
int attach(struct toll_tracker *t, struct toll_error *e);
