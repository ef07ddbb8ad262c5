/* SPDX-License-Identifier: MIT
 * Reaping what ends as a child of the tracker: the command, and orphans of the job that come home
 * because the tracker is a subreaper. What they used, with all that they had reaped themselves, is
 * then in the tracker's own accounts, to the microsecond and the byte. */
#pragma once

#include "engine/tracker.h"

/* ==== Reap ==================================================================================== */

/* Remember what was in those accounts before. */
void reap_begin(struct toll_tracker *t);

/* Reap everything that has ended; never waits. */
void reap(struct toll_tracker *t);

/* The same for helpers of the tracker alone: other children are their parent's affair. */
void reap_helpers(struct toll_tracker *t);

/* Put what was reaped so far into the books; usage and io count from the launch on. */
void reap_book(struct toll_tracker *t, const struct rusage *usage, const struct pid_io *io);

/* ==== Own threads ============================================================================= */

/* The threads that a tracker has beside the one that samples: what they use is not the job's. */

/* How many there are, which may be more than fit into ret. */
size_t own_threads_list(const struct toll_tracker *t, pid_t ret[OWN_THREADS_AT_MOST]);

/* CPU time of them together. */
uint64_t own_threads_cpu_ns(const struct toll_tracker *t);

/* A program that measures itself leaves them out; once they are all started. */
void own_threads_leave_out(struct toll_tracker *t);
