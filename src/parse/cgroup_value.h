/* SPDX-License-Identifier: MIT
 * The files of a cgroup that have one value or limit in them. */
#pragma once

#include "base/scan.h"

struct cgroup_value {
    bool unlimited; /* "max", -1, or what version 1 writes when no limit is set */
    uint64_t value; /* 0 when unlimited */
};

/* memory.max, memory.limit_in_bytes, pids.current, cpu.cfs_quota_us…: 0 or -EBADMSG. */
int parse_cgroup_value(struct scan text, struct cgroup_value *ret);

/* A number that stands elsewhere (hierarchical_memory_limit), where the largest means no limit. */
struct cgroup_value cgroup_value_of(uint64_t number);

struct cgroup_cpu_max {
    bool unlimited;
    uint64_t quota_us; /* 0 when unlimited */
    uint64_t period_us;
};

/* cpu.max of version 2: 0 or -EBADMSG. */
int parse_cgroup_cpu_max(struct scan text, struct cgroup_cpu_max *ret);
