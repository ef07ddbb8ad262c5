/* SPDX-License-Identifier: MIT
 * What is known of one process: collectors fill it in, the accounts read it. */
#pragma once

#include "metric/frame.h"
#include "metric/inherited.h"

struct process {
    struct entity entity;
    struct row own; /* the process itself; I/O with what it reaped, where the kernel mixes it */
    struct inherited
        inherited;        /* what it took over from children it reaped, where that is told apart */
    uint64_t denied;      /* bits of own that permissions hide */
    uint64_t fresh;       /* bits of own that were read at the last visit */
    pid_t group, session; /* as of the last look */
    char state;           /* as in /proc/PID/stat; 0 = not read yet */
    bool has_ended;       /* a zombie, or so far on its way out that it has no memory any more */
    bool of_kernel;       /* a thread of the kernel, which has no memory */
    bool ignores_sigchld; /* its children vanish without being counted anywhere */
    bool splits_io;       /* keep its own I/O apart from what it reaped: one more file */
    uint64_t first_seen_ns;
    uint64_t looked_at_ns; /* when stat was read last, whether or not it had run … */
    uint64_t refreshed_ns; /* … and when all files were */
};
