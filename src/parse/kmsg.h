/* SPDX-License-Identifier: MIT
 * One record of /dev/kmsg. */
#pragma once

#include "base/scan.h"

struct kmsg {
    uint64_t sequence;   /* counts from 0 at the start of the machine */
    uint64_t time_us;    /* by the scheduler's clock, which runs beside the monotonic one */
    struct scan message; /* borrowed from the text */
};

/* 0 or -EBADMSG. */
int parse_kmsg(struct scan text, struct kmsg *ret);

/* Whether the message says that the kernel killed this process for want of memory. */
bool kmsg_tells_killed(struct scan message, uint64_t pid);
