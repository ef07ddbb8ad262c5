/* SPDX-License-Identifier: MIT
 * The flat files of a cgroup: cpu.stat, memory.stat, memory.events, pids.events and
 * memory.oom_control, of which a few lines are wanted. */
#pragma once

#include "base/scan.h"

enum { CGROUP_FLAT_KEYS = 16 }; /* the most that may be asked for at once */

/* Bit k of the answer: values[k] was written. -EBADMSG when a wanted value is no number; then
 * nothing is written. A key that is not there is a bit that is not set. */
int parse_cgroup_flat(struct scan text, const char *const *keys, unsigned count, uint64_t *values);
