/* SPDX-License-Identifier: MIT
 * /proc/stat: what the CPUs did since the machine was started. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

/* ==== Proc stat =============================================================================== */

/* In the order of the columns; an older kernel has only the first ones. */
enum cpu_mode {
    CPU_USER,
    CPU_NICE,
    CPU_SYSTEM,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_IRQ,
    CPU_SOFTIRQ,
    CPU_STEAL,
    CPU_GUEST,
    CPU_MODES,
};

/* Ticks of USER_HZ. No tick is in two modes: the kernel's own `user` contains `guest`. */
struct cpu_times {
    unsigned modes; /* how many of them this kernel has */
    uint64_t ticks[CPU_MODES];
    uint64_t busy_ticks; /* all but idle, iowait and steal */
};

enum proc_stat_count {
    STAT_INTERRUPTS,
    STAT_SWITCHES,
    STAT_FORKS,
    STAT_RUNNING,
    STAT_BLOCKED,
    STAT_COUNTS,
};

struct proc_stat {
    struct cpu_times all;
    unsigned cpu_count; /* CPUs that are online */
    struct scan cpus;   /* their lines, inside the text that was parsed */
    unsigned seen;      /* bit n: counts[n] was there */
    uint64_t counts[STAT_COUNTS];
};

/* 0, -EBADMSG when the text is not as expected, -ENODATA when there is none. */
int parse_proc_stat(struct scan text, struct proc_stat *ret);

/* Cuts the next line off proc_stat.cpus. 1, 0 after the last one, -EBADMSG. */
int parse_proc_stat_cpu(struct scan *cpus, unsigned *ret_number, struct cpu_times *ret);

/* ==== Load ==================================================================================== */

/* /proc/loadavg: how many tasks want to run, and the pid handed out last. */

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
