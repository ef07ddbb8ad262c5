/* SPDX-License-Identifier: MIT
 * One sample, from the kernel's files to the outputs. */
#pragma once

#include "engine/tracker.h"

/* ==== Tick ==================================================================================== */

/* last: the run is over; what stands in the frame is final. */
void tick(struct toll_tracker *t, bool last);

/* ==== Machine ================================================================================= */

/* What is read of the machine around the target: the collectors of the plan, each at its pace. */

/* Opens the collectors that somebody asked for. */
void machine_open(struct toll_tracker *t);
void machine_close(struct toll_tracker *t);

/* Reads what is due and puts it into the frame. */
void machine_tick(struct toll_tracker *t);
