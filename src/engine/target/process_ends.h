/* SPDX-License-Identifier: MIT
 * A line for each process of a command that ended, however short it lived (options.exact): what the
 * kernel recorded of its tasks, joined with what samples had of it.
 *
 * Records come when samples are taken, and when half of the room for them is used. A process whose
 * end both the kernel and a walk have noticed is sent to the outputs once. Memory is bounded: after
 * the first lines, processes that used little are folded by program, parent and outcome. */
#pragma once

#include "engine/step.h"
#include "engine/target/cgroups.h"
#include "engine/target/tracked.h"
#include "source/bpf/task_ends.h"

struct pending_end;
struct folded_end;

struct process_ends {
    struct task_ends *source;                /* owned; NULL: ends are not recorded */
    int failure;                             /* why not; 0: not asked for, or it is on */
    bool has_processes, has_io, has_traffic; /* as the source has them */
    struct pending_end *pending; /* owned; processes of which a part of the end is known */
    size_t pending_count, pending_capacity;
    struct map by_pid;        /* pid -> place in pending */
    struct row sum;           /* counters of all tasks that ended */
    uint64_t peak_bytes;      /* of the largest process */
    uint64_t line_cpu_ns;     /* CPU time in lines and folds */
    uint64_t records, tasks;  /* that were read, and those of tasks among them */
    uint64_t ended;           /* processes whose record was sent or folded */
    uint64_t ended_before;    /* before the last walk, by the kernel's count */
    uint64_t lines;           /* that were sent */
    struct folded_end *folds; /* owned */
    size_t fold_count, fold_capacity;
    uint64_t folded;              /* processes in them */
    struct task_end with_command; /* whose arguments were masked last, */
    char *command;                /* owned: to this */
    bool is_finished;
    bool is_short;  /* of tasks, or of CPU time compared with the cgroup */
    uint64_t exact; /* at the end: bits of what was counted of every process */
};

/* Before the command is started in its cgroup. Where the kernel refuses, the run goes on without,
 * and process_ends_begin says so. */
void process_ends_open(struct process_ends *l, struct tracked *t, const struct job_cgroup *j);
void process_ends_begin(struct process_ends *l, struct tracked *t, const struct wakeup *wakeup);

/* The command is not in the cgroup after all, or is not started. */
void process_ends_abandon(struct process_ends *l, struct tracked *t, int failure);

/* A member was found to have left: true when it is kept until its record comes, and sent then. */
bool process_ends_keep(struct process_ends *l, struct tracked *t, const struct process_end *e);

/* Takes the records that have come. */
void process_ends_read(struct process_ends *l, struct tracked *t);

/* Around a walk of a sample: what has ended before it and what lives at it were started. */
void process_ends_before_walk(struct process_ends *l, struct tracked *t);
void process_ends_after_walk(const struct process_ends *l, struct tracked *t, bool has_outside);

/* Instead at the end of the run: waits a moment for those of processes that were just reaped, and
 * compares tasks that ended with those that were born, and the CPU time with the cgroup's, which is
 * read again after waiting. */
void process_ends_finish(struct process_ends *l, struct tracked *t, struct job_cgroup *j);

/* Whether the end of a process that is still a member was sent: its parent has not reaped it. */
bool process_ends_has_sent(const struct process_ends *l, const struct entity *e);

/* At the end: puts the figures of the whole that records have counted, into its parts. */
void process_ends_count(const struct process_ends *l, struct target *g);

void process_ends_close(struct process_ends *l);
