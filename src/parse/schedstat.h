/* SPDX-License-Identifier: MIT
 * /proc/PID/task/TID/schedstat: time on a CPU and time waiting for one, of one thread. */
#pragma once

#include "base/scan.h"

struct schedstat {
    uint64_t run_ns;
    uint64_t wait_ns; /* ready to run, no CPU free */
};

/* 0, -EBADMSG, -ESRCH when there is no text. */
int parse_schedstat(struct scan text, struct schedstat *ret);
