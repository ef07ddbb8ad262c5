/* SPDX-License-Identifier: MIT
 * A recorded run in place of a live one: for each sample a tree of /proc, a script with the times
 * and with what wait4 said. docs/testing.md describes the script. */
#pragma once

#include "engine/tracker.h"

int replay_open(struct toll_tracker *t, const char *directory, struct toll_error *e);
void replay_close(struct toll_tracker *t);

/* Up to the next sample. 1, 0 at the end of the script, -EBADMSG. */
int replay_step(struct toll_tracker *t);
