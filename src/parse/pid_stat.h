/* SPDX-License-Identifier: MIT
 * /proc/PID/stat: the short facts of a process, on one line. */
#pragma once

#include "base/scan.h"

#include <sys/types.h>

struct pid_stat {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    char state;       /* R S D Z T … */
    bool of_kernel;   /* a thread of the kernel: it has no memory and lives all the same */
    bool is_leaving;  /* on its way out: the last moments in the kernel, then a zombie */
    const char *name; /* inside the text that was parsed, not terminated */
    size_t name_length;
    uint64_t faults_minor, children_faults_minor; /* children: those that were reaped */
    uint64_t faults_major, children_faults_major;
    uint64_t user_ticks, children_user_ticks;
    uint64_t system_ticks, children_system_ticks;
    uint64_t threads;
    uint64_t start_ticks; /* since boot */
    uint64_t virtual_bytes;
    uint64_t rss_pages;
    bool before_exec;     /* forked, and it has not called exec since: only then can it share the
                             memory of another process */
    uint64_t start_stack; /* the same for all that share it; 0: hidden by permissions */
};

/* 0, -EBADMSG when the text is not as expected, -ESRCH when there is none. */
int parse_pid_stat(struct scan text, struct pid_stat *ret);
