/* SPDX-License-Identifier: MIT
 * /proc/PID/limits: the soft resource limits of a process. */
#pragma once

#include "base/scan.h"

enum pid_limit {
    PID_LIMIT_CPU_SECONDS,
    PID_LIMIT_FILE_BYTES,
    PID_LIMIT_CORE_BYTES,
    PID_LIMIT_PROCESSES,
    PID_LIMIT_OPEN_FILES,
    PID_LIMIT_LOCKED_BYTES,
    PID_LIMIT_ADDRESS_BYTES,
    PID_LIMITS,
};

#define PID_LIMIT_NONE UINT64_MAX /* "unlimited" */

struct pid_limits {
    unsigned known; /* bit l: soft[l] was there */
    uint64_t soft[PID_LIMITS];
};

/* 0, -EBADMSG when none of them is there or one is no number, -ESRCH when there is no text. */
int parse_pid_limits(struct scan text, struct pid_limits *ret);
