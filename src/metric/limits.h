/* SPDX-License-Identifier: MIT
 * What a process may use, and who says so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum limit_kind {
    LIMIT_CPUS, /* in cores: the only one that is no whole number */
    LIMIT_MEMORY_BYTES,
    LIMIT_SWAP_BYTES,
    LIMIT_TASKS,
    LIMIT_OPEN_FILES,
    LIMIT_PROCESSES, /* of the same user */
    LIMIT_ADDRESS_BYTES,
    LIMIT_CPU_SECONDS,
    LIMIT_FILE_BYTES,
    LIMIT_CORE_BYTES,
    LIMIT_LOCKED_BYTES,
    LIMITS,
};

struct limit {
    bool known;
    bool unlimited; /* it is known that there is none; the rest is 0 */
    uint64_t value;
    double cores;   /* of LIMIT_CPUS instead of the value */
    const char *by; /* "machine", "affinity", "cpuset", "cpu quota", "memory limit", "swap limit",
                       "task limit", "resource limit" */
    char *cgroup;   /* owned: the path of the cgroup that set it; NULL when it was none */

    bool has_used;          /* it is known how much of it was used at most … */
    bool used_is_least;     /* … or at least how much */
    double used;            /* in the unit of the limit */
    const char *whose;      /* "cgroup", "target" or "main process": whose use it is */
    const char *reached;    /* what proves that it was reached: "OOM killer", "SIGXFSZ", …; NULL:
                               nothing    does, which does not mean that it was not */
    uint64_t reached_times; /* … 0: it is not counted */
};

struct limits {
    struct limit of[LIMITS];
};
