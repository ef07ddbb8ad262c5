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
