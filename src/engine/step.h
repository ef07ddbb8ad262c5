/* SPDX-License-Identifier: MIT
 * One turn of a tracker that has begun: what ended is reaped, a sample is taken if one is due. */
#pragma once

#include "engine/tracker.h"

/* As toll_tracker_step says. */
int step(struct toll_tracker *t);
