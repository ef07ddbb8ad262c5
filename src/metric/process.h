/* SPDX-License-Identifier: MIT
 * What is known of one process: collectors fill it in, the accounts read it. */
#pragma once

#include "metric/frame.h"
#include "metric/inherited.h"
#include "toll.h"

/* Times that the kernel cuts to ticks, in nanoseconds. */
struct tick_times {
    uint64_t user, system;
    uint64_t children_user, children_system; /* of those that were reaped */
};

struct process {
    struct entity entity;
    struct row own; /* the process itself; I/O with what it reaped, where the kernel mixes it */
    struct inherited
        inherited;   /* what it took over from children it reaped, where that is told apart */
    uint64_t denied; /* bits of own that permissions hide … */
    uint64_t denied_at_end; /* … and of those the ones that nothing had hidden while it lived */
    uint64_t fresh;         /* bits of own that were read at the last visit */
    pid_t group, session;   /* as of the last look */
    char state;             /* as in /proc/PID/stat; 0 = not read yet */
    bool has_ended;         /* a zombie, or so far on its way out that it has no memory any more */
    bool of_kernel;         /* a thread of the kernel, which has no memory */
    bool is_being_reaped; /* found in the middle of it: its parent may have its figures, or not yet
                           */
    bool ignores_sigchld; /* its children vanish without being counted anywhere */
    bool is_namespace_init; /* of a pid namespace: its processes end with it, uncounted */
    bool before_exec;     /* forked and not become a program of its own: it may share its memory */
    uint64_t start_stack; /* where the stack of its program begins, 0: not known */
    unsigned execs;       /* how often it was seen to have called exec: its memory is another one */
    bool is_hidden;       /* it lives, and /proc does not show it to this user (hidepid) */
    bool splits_io;       /* keep its own I/O apart from what it reaped: one more file */
    struct tick_times
        baseline; /* of a process that was there before: no CPU time reads below these */
    uint64_t first_seen_ns;
    uint64_t looked_at_ns; /* when stat was read last, whether or not it had run … */
    uint64_t refreshed_ns; /* … and when all files were */
};

/* Its own figures for others to see: counters that permissions hide by now are those of the last
 * look that was allowed, a lower bound. The copy is needed then. */
static inline const struct row *process_shown(const struct process *p, struct row *copy)
{
    if (!(p->denied & p->own.present))
        return &p->own;
    *copy = p->own;
    row_bound(copy, p->denied);
    return copy;
}

/* How a process left the target. */
enum departure { LEFT_REAPED, LEFT_INSIDE, LEFT_LOST, DEPARTURES };

struct process_end {
    const struct process *process; /* borrowed */
    enum departure how;
    bool has_status; /* reaped by the tracker, which was told how it ended */
    struct toll_end end;
    uint64_t elapsed_ns;
};
