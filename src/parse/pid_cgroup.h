/* SPDX-License-Identifier: MIT
 * /proc/PID/cgroup: the cgroup of a process in each hierarchy. */
#pragma once

#include "base/scan.h"

struct pid_cgroup {
    uint64_t hierarchy;      /* 0 is version 2 */
    struct scan controllers; /* "cpu,cpuacct", "name=systemd"; empty in version 2; borrowed */
    struct scan path;        /* begins with a slash; borrowed from the text */
    bool deleted;            /* the directory was removed while the process was in it */
};

/* The next line: 1, 0 at the end of the text, or -EBADMSG when the line is none of these. A bad
 * line is consumed, so that one can go on behind it. */
int parse_pid_cgroup(struct scan *text, struct pid_cgroup *ret);
