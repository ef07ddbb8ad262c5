/* SPDX-License-Identifier: MIT
 * /proc/vmstat: events of the memory of the machine. */
#pragma once

#include "base/scan.h"

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
