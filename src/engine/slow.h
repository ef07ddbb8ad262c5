/* SPDX-License-Identifier: MIT
 * Reads that are dear: smaps_rollup walks page tables, milliseconds per gigabyte, and holds a lock
 * that the job needs for mapping memory. A round over all members is made when it fits the budget;
 * the next comes no sooner than the budget allows after its real cost. A long round goes on over
 * several ticks. */
#pragma once

#include "engine/tracker.h"

/* True when all members have figures of now: a round was completed in this tick, or nobody has run
 * since the last one. */
bool slow_tick(struct toll_tracker *t, uint64_t now_ns);

/* The parts are summed up after a round: remember how much memory it has seen. */
void slow_remember(struct toll_tracker *t);
