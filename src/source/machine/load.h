/* SPDX-License-Identifier: MIT
 * /proc/loadavg: how many tasks want to run, and the pid handed out last. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

/* ==== Loadavg ================================================================================= */

struct loadavg {
    double load[3]; /* over 1, 5 and 15 minutes */
    uint64_t running;
    uint64_t threads; /* all there are */
};

/* Both: 0, -EBADMSG, -ENODATA when there is no text. */
int parse_loadavg(struct scan text, struct loadavg *ret);
int parse_loadavg_last_pid(struct scan text, uint64_t *ret);

/* ==== Uptime ================================================================================== */

/* /proc/uptime: time since the machine was started. */

/* 0, -EBADMSG, -ENODATA when there is no text. */
int parse_uptime(struct scan text, uint64_t *ret_ns);

/* ==== Process census ========================================================================== */

/* How many processes there are.
 *
 * Linux adds the number of processes to the links of the directory /proc, so that one call shows
 * what thousands of entries would. In a pid namespace it is everybody's number, and other kernels
 * do not do it: the links are believed only where they agree with a count, which is made again
 * now and then. */

struct process_census {
    bool by_links;
    uint64_t other_links;   /* those of /proc that are no processes */
    unsigned next_check_in; /* so many calls; 0: now */
};

/* 0, -ENODATA when /proc shows no process or not those of others, or another -errno. */
int process_census_take(struct process_census *p, const struct sysroot *root, uint64_t *ret);
