/* SPDX-License-Identifier: MIT
 * /proc/PID/status: what stat does not say. */
#pragma once

#include "base/scan.h"
#include "base/util.h"

#include <sys/types.h>

struct pid_status {
    bool has_memory;           /* false for a zombie and a kernel thread: they have none */
    bool has_shared;           /* RssFile and RssShmem, since Linux 4.5 */
    bool has_swap;             /* VmSwap; absent without CONFIG_SWAP */
    uint64_t high_water_bytes; /* VmHWM */
    uint64_t rss_bytes;        /* VmRSS; since Linux 6.16 more exact than in stat */
    uint64_t shared_bytes;     /* RssFile + RssShmem */
    uint64_t swap_bytes;
    uint64_t ignored_signals;    /* SigIgn: bit n-1 is signal n */
    uint64_t switches_voluntary; /* of the main thread */
    uint64_t switches_involuntary;
};

/* 0, -EBADMSG when SigIgn or the switches are missing or a number is not one, -ESRCH when there is
 * no text. */
int parse_pid_status(struct scan text, struct pid_status *ret);

/* The effective user alone; the same errors. */
int parse_pid_user(struct scan text, uid_t *ret_effective);

/* The pids it has, from the namespace that this /proc is of down to its own: at most `most`, more
 * are left out. How many, -ENODATA when the kernel does not say (before Linux 4.1), -EBADMSG, or
 * -ESRCH. */
int parse_pid_namespaces(struct scan text, pid_t *pids, unsigned most);
