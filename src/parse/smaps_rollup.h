/* SPDX-License-Identifier: MIT
 * /proc/PID/smaps_rollup: memory with its sharing resolved (Linux 4.14 and later). */
#pragma once

#include "base/scan.h"

struct smaps_rollup {
    uint64_t rss_bytes;
    uint64_t pss_bytes;
    uint64_t uss_bytes; /* Private_Clean + Private_Dirty */
};

/* 0, -EBADMSG when one of the lines is missing, -ESRCH when there is no text. */
int parse_smaps_rollup(struct scan text, struct smaps_rollup *ret);
