/* SPDX-License-Identifier: MIT
 * /proc/meminfo: what the memory of the machine is used for. */
#pragma once

#include "base/text/scan.h"

/* ==== Meminfo ================================================================================= */

enum meminfo_key {
    MEMINFO_TOTAL,
    MEMINFO_AVAILABLE, /* since Linux 3.14 */
    MEMINFO_FREE,
    MEMINFO_BUFFERS,
    MEMINFO_CACHED,
    MEMINFO_RECLAIMABLE,
    MEMINFO_ACTIVE,
    MEMINFO_INACTIVE,
    MEMINFO_ACTIVE_ANON,
    MEMINFO_INACTIVE_ANON,
    MEMINFO_ANON,
    MEMINFO_SHMEM,
    MEMINFO_SLAB,
    MEMINFO_DIRTY,
    MEMINFO_WRITEBACK,
    MEMINFO_SWAP_TOTAL,
    MEMINFO_SWAP_FREE,
    MEMINFO_HUGE_TOTAL,
    MEMINFO_HUGE_FREE,
    MEMINFO_HUGE_SIZE, /* of one huge page */
    MEMINFO_KEYS,
};

struct meminfo {
    unsigned seen; /* bit n: bytes[n] was there */
    uint64_t bytes[MEMINFO_KEYS];
};

/* 0, -EBADMSG when the total is missing or a number is not one, -ENODATA when there is no text. */
int parse_meminfo(struct scan text, struct meminfo *ret);

/* ==== Vmstat ================================================================================== */

/* /proc/vmstat: events of the memory of the machine. */

enum vmstat_key {
    VMSTAT_SWAP_IN, /* pages */
    VMSTAT_SWAP_OUT,
    VMSTAT_FAULTS_MAJOR,
    VMSTAT_OOM_KILLS, /* since Linux 4.13 */
    VMSTAT_KEYS,
};

struct vmstat {
    unsigned seen; /* bit n: counts[n] was there */
    uint64_t counts[VMSTAT_KEYS];
};

/* 0, -EBADMSG when nothing of it is there or a number is not one, -ENODATA when there is no text.
 */
int parse_vmstat(struct scan text, struct vmstat *ret);
