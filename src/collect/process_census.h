/* SPDX-License-Identifier: MIT
 * How many processes there are.
 *
 * Linux adds the number of processes to the links of the directory /proc, so that one call tells
 * what thousands of entries would. In a pid namespace it is everybody's number, and other kernels
 * do not do it: the links are believed only where they agree with a count, which is made again
 * now and then. */
#pragma once

#include "base/sysroot.h"
#include "base/util.h"

struct process_census {
    bool by_links;
    uint64_t other_links;   /* those of /proc that are no processes */
    unsigned next_check_in; /* so many calls; 0: now */
};

/* 0, -ENODATA when /proc shows no process or not those of others, or another -errno. */
int process_census_take(struct process_census *p, const struct sysroot *root, uint64_t *ret);
