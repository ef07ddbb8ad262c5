/* SPDX-License-Identifier: MIT
 * A command that was given a time: SIGTERM to it and its descendants when that is over, SIGKILL
 * after a grace. */
#pragma once

#include "engine/tracker.h"

/* When there is something to do, UINT64_MAX for never. */
uint64_t timeout_due(const struct toll_tracker *t);

/* Does what is due. */
void timeout_step(struct toll_tracker *t);

/* Sends a signal to a process as it was last read: -ESRCH when its number is another one's by now.
 */
int timeout_signal(struct process_reader *r, const struct entity *e, int number);

/* The time is over, and descendants are left to be ended, whether or not the command has ended. */
bool timeout_goes_on(const struct toll_tracker *t);
