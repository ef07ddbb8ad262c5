/* SPDX-License-Identifier: MIT
 * The cgroups the targets are in: their figures, what they allow, and whether the kernel killed
 * somebody in them for want of memory. */
#pragma once

#include "engine/tracker.h"

/* Before a command is started, which will be in our own cgroup: what it does in its first moments
 * counts. */
void cgroups_prepare(struct toll_tracker *t);

void cgroups_open(struct toll_tracker *t);
void cgroups_close(struct toll_tracker *t);

/* Adds the figures of the cgroups to what was read of the machine, when it is time. */
void cgroups_tick(struct toll_tracker *t);

/* A target that is a cgroup has figures that the kernel counted for it, and that miss nobody. */
void cgroups_put(struct target *g);

/* A command has ended and was not reaped: its limits, which it may have set itself, can be read for
 * the last time. */
void cgroups_last_look(struct toll_tracker *t);

/* How much of its limits each target of the summary has used up to now, and which were reached for
 * certain. */
void cgroups_use_limits(const struct toll_tracker *t, struct summary *s);

/* Whether somebody was killed for want of memory, and which limits were reached. */
void cgroups_finish(struct toll_tracker *t);
