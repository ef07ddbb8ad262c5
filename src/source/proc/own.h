/* SPDX-License-Identifier: MIT
 * The figures of the calling process, asked of the kernel by calls where there are some: a tenth of
 * what the files of another process cost. */
#pragma once

#include "base/io/file.h"
#include "base/thread.h"
#include "metric/frame.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ==== Own figures ============================================================================= */

struct own_figures {
    pid_t pid;            /* the process that opened the files: after a fork, the parent */
    const bool *is_owner; /* mapped: false in a fork; NULL on kernels that cannot clear it */
    /* The program may close these, and open other files under their numbers. */
    struct known_file statm, io;
    struct known_file tasks, files; /* the directories task and fd */
    bool counts_files;              /* the size of fd is the number of files (Linux 6.2) */
    uint64_t page_bytes;
};

/* Whether all of those process metrics can be read this way. */
bool own_figures_give(uint64_t wanted);

void own_figures_open(struct own_figures *o);

/* Puts those of the process metrics that can be read into the row. 0, or -ESRCH in a fork. */
int own_figures_read(struct own_figures *o, uint64_t wanted, struct row *row);

void own_figures_close(struct own_figures *o);

/* ==== Own thread ============================================================================== */

/* What the thread that samples has used itself, to be left out of the figures of the program it
 * runs in. Memory cannot be divided so. */

enum { OWN_THREADS_AT_MOST = 16 }; /* more than there are vendors of GPUs */

struct own_thread {
    pid_t pid;              /* of the program that measures itself; 0 when no program does */
    pid_t thread;           /* the thread that samples */
    unsigned threads;       /* how many the tracker has */
    int io;                 /* the io file of the thread, kept open, or -1 */
    atomic_uint wakes;      /* by other threads of the program, a byte each */
    struct rusage children; /* that the program had reaped when this was last asked for */
    size_t other_count;
    struct {
        pid_t thread;
        int io;                    /* as above */
    } others[OWN_THREADS_AT_MOST]; /* the other threads of the tracker */
};

/* For the calling thread; threads: how many the tracker has. */
void own_thread_begin(struct own_thread *o, unsigned threads);
/* A further thread of the tracker, which is left out too. */
void own_thread_add(struct own_thread *o, pid_t thread);
void own_thread_done(struct own_thread *o);

/* Takes what the tracker's threads have used by now out of what stat said of the program. */
void own_thread_leave_out(const struct own_thread *o, struct row *row);

/* Takes the I/O of the tracker's threads out of what the program's io file said, which was the last
 * file read and had bytes_read bytes. */
void own_thread_leave_out_io(const struct own_thread *o, struct row *row, uint64_t bytes_read);

/* Puts what the program inherited from children it reaped, finer than stat, which has ticks. */
void own_thread_children(struct inherited *inherited);

/* Whether the program has reaped children since the last call. */
bool own_thread_has_reaped(struct own_thread *o);

/* ==== Self ==================================================================================== */

/* What measuring itself costs. */

/* CPU time as given, and the memory of the calling process; nothing of a replay, where the cost
 * means nothing. */
void self_collect(const struct sysroot *root, uint64_t cpu_ns, struct row *row, bool with_memory);
