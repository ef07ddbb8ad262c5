/* SPDX-License-Identifier: MIT
 * Watching every process of a command start and end (options.watch_exits), by the kernel's records:
 * counts them, and proves that a process was discarded that no look has seen. */
#pragma once

#include "engine/tracker.h"

/* For the child that is going to execute the command. Where the kernel refuses, the run goes on
 * without, and exits_begin says so. */
void exits_open(struct toll_tracker *t, pid_t child);
void exits_begin(struct toll_tracker *t);

/* Takes in what was recorded. last: the job has ended, or is not watched any more. */
void exits_read(struct toll_tracker *t, bool last);

/* Every process that was started is counted. */
bool exits_are_complete(const struct toll_tracker *t);

void exits_close(struct toll_tracker *t);
