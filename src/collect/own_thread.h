/* SPDX-License-Identifier: MIT
 * What the thread that samples has used itself, to be left out of the figures of the program it
 * runs in. Of memory it cannot be told. */
#pragma once

#include "metric/process.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { OWN_THREADS_AT_MOST = 16 }; /* more than there are vendors of GPUs */

struct own_thread {
    pid_t pid; /* of the program that measures itself; 0: no program does */
    pid_t thread;
    unsigned threads;  /* of the tracker */
    int io;            /* kept descriptor of the thread's io file, -1: not to be had */
    atomic_uint wakes; /* by other threads of the program, a byte each */
    size_t other_count;
    struct {
        pid_t thread; /* a further one of the tracker … */
        int io;       /* … and its io file, likewise */
    } others[OWN_THREADS_AT_MOST];
};

/* For the calling thread; threads: how many the tracker has. */
void own_thread_begin(struct own_thread *o, unsigned threads);
/* A further thread of the tracker, which is left out too. */
void own_thread_add(struct own_thread *o, pid_t thread);
void own_thread_done(struct own_thread *o);

/* Takes what this thread has used by now out of what stat said of the program. */
void own_thread_leave_out(const struct own_thread *o, struct row *row);

/* … and out of what its io file said: read last, with so many bytes. */
void own_thread_leave_out_io(const struct own_thread *o, struct row *row, uint64_t bytes_read);

/* What the program took over from children it reaped: finer than stat, which counts in ticks. */
void own_thread_children(struct inherited *inherited);
