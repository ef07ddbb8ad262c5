/* SPDX-License-Identifier: MIT
 * One turn of a tracker that has begun: what ended is reaped, a sample is taken if one is due. */
#pragma once

#include "engine/tracker.h"

/* ==== Step ==================================================================================== */

/* As toll_tracker_step says. */
int step(struct toll_tracker *t);

/* ==== Wakeup ================================================================================== */

/* The one descriptor the caller waits on: behind it are the timer of the samples and whatever else
 * is watched. */

/* only_the_clock: nothing will be watched; the descriptor is the timer itself, which spares a tick
 * the way through an epoll. 0 or -errno. */
int wakeup_open(struct toll_tracker *t, bool only_the_clock);
void wakeup_close(struct toll_tracker *t);

/* Also when the descriptor is readable. 0 or -errno. */
int wakeup_watch(struct toll_tracker *t, int fd);

/* For what is due next: a sample, or the end of the time the command has. */
void wakeup_arm(struct toll_tracker *t);

/* ==== Timeout ================================================================================= */

/* A command that was given a time: SIGTERM to it and its descendants when that is over, SIGKILL
 * after a grace. */

/* When there is something to do, UINT64_MAX for never. */
uint64_t timeout_due(const struct toll_tracker *t);

/* Does what is due. */
void timeout_step(struct toll_tracker *t);

/* Sends a signal to a process as it was last read: -ESRCH when its number is another one's by now.
 */
int timeout_signal(struct process_reader *r, const struct entity *e, int number);

/* The time is over, and descendants are left to be ended, whether or not the command has ended. */
bool timeout_goes_on(const struct toll_tracker *t);
