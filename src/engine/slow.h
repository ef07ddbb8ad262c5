/* SPDX-License-Identifier: MIT
 * Reads that are dear: smaps_rollup walks page tables, milliseconds per gigabyte, and holds a lock
 * that the job needs for mapping memory. A round over all members is made when it fits the budget;
 * the next comes no sooner than the budget allows after its real cost. A long round goes on over
 * several ticks. */
#pragma once

#include "engine/tracker.h"

/* True when a round was completed in this tick: all members have fresh figures. */
bool slow_tick(struct toll_tracker *t, uint64_t now_ns);
