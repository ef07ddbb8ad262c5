/* SPDX-License-Identifier: MIT
 * The one descriptor the caller waits on: behind it are the timer of the samples and whatever else
 * is watched. */
#pragma once

#include "engine/tracker.h"

/* only_the_clock: nothing will be watched; the descriptor is the timer itself, which spares a tick
 * the way through an epoll. 0 or -errno. */
int wakeup_open(struct toll_tracker *t, bool only_the_clock);
void wakeup_close(struct toll_tracker *t);

/* Also when the descriptor is readable. 0 or -errno. */
int wakeup_watch(struct toll_tracker *t, int fd);

/* For what is due next: a sample, or the end of the time the command has. */
void wakeup_arm(struct toll_tracker *t);
