/* SPDX-License-Identifier: MIT
 * One sample, from the kernel's files to the outputs. */
#pragma once

#include "engine/tracker.h"

/* last: the run is over; what stands in the frame is final. */
void tick(struct toll_tracker *t, bool last);
