/* SPDX-License-Identifier: MIT
 * The threads that a tracker has beside the one that samples: what they use is not the job's. */
#pragma once

#include "engine/tracker.h"

/* How many there are, which may be more than fit into ret. */
size_t own_threads_list(const struct toll_tracker *t, pid_t ret[OWN_THREADS_AT_MOST]);

/* CPU time of them together. */
uint64_t own_threads_cpu_ns(const struct toll_tracker *t);

/* A program that measures itself leaves them out; once they are all started. */
void own_threads_leave_out(struct toll_tracker *t);
