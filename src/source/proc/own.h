/* SPDX-License-Identifier: MIT
 * The figures of the calling process, asked of the kernel by calls where there are some: a tenth of
 * what the files of another process cost. */
#pragma once

#include "base/io/file.h"
#include "base/thread.h"
#include "metric/frame.h"

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ==== Own figures ============================================================================= */

struct own_figures {
    pid_t pid;            /* whose descriptors these are: after a fork they are the parent's */
    const bool *is_owner; /* a page that the kernel empties in a fork, or NULL: it cannot */
    /* The program may close them, and open others under their numbers. */
    struct known_file statm, io;
    struct known_file tasks, files; /* directories; that of the files tells how many there are since
                                       Linux 6.2 */
    bool counts_files;
    uint64_t page_bytes;
};

/* Whether all of those process metrics are to be had this way. */
bool own_figures_give(uint64_t wanted);

void own_figures_open(struct own_figures *o);

/* What of those process metrics is to be had, into a row of a process. 0, or -ESRCH in a fork. */
int own_figures_read(struct own_figures *o, uint64_t wanted, struct row *row);

void own_figures_close(struct own_figures *o);

/* ==== Own thread ============================================================================== */

/* What the thread that samples has used itself, to be left out of the figures of the program it
 * runs in. Of memory it cannot be told. */

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

/* ==== Self ==================================================================================== */

/* What measuring itself costs. */

/* CPU time as given, and the memory of the calling process; nothing of a replay, where the cost
 * means nothing. */
void self_collect(const struct sysroot *root, uint64_t cpu_ns, struct row *row, bool with_memory);
