/* SPDX-License-Identifier: MIT
 * Lists of CPUs, as in /sys/devices/system/cpu/online, Cpus_allowed_list and cpuset.cpus. */
#pragma once

#include "base/scan.h"

enum { CPU_LIST_MOST = 8192 }; /* the largest number of CPUs that a kernel is built for */

struct cpu_list {
    uint64_t bits[CPU_LIST_MOST / 64];
};

/* 0; -ENODATA for an empty list (a cpuset nobody set); -EBADMSG. The newline may be missing. */
int parse_cpu_list(struct scan text, struct cpu_list *ret);

unsigned cpu_list_count(const struct cpu_list *l);

/* What is left of l when only those of `other` count. */
void cpu_list_keep(struct cpu_list *l, const struct cpu_list *other);
