/* SPDX-License-Identifier: MIT
 * What is read of the machine around the target: the collectors of the plan, each at its pace. */
#pragma once

#include "engine/tracker.h"

/* Opens the collectors that somebody asked for. */
void machine_open(struct toll_tracker *t);
void machine_close(struct toll_tracker *t);

/* Reads what is due and puts it into the frame. */
void machine_tick(struct toll_tracker *t);
