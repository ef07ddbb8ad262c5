/* SPDX-License-Identifier: MIT
 * Watching every process of a command start and end (options.watch_exits), by the kernel's records:
 * counts them, and proves that a process was discarded that no look has seen. */
#pragma once

#include "engine/step.h"
#include "engine/target/tracked.h"
#include "source/proc/task_records.h"

struct exit_parent;

struct exit_watch {
    bool is_on;
    int failure; /* why not, 0: not asked for, or it is on */
    struct task_records records;
    struct exit_parent *parents; /* owned; processes whose children ended */
    size_t parent_count;
    size_t parent_capacity;
    struct map by_pid; /* pid -> place in parents */
    uint64_t round;
};

/* For the child that is going to execute the command. Where the kernel refuses, the run goes on
 * without, and exits_begin says so. */
void exits_open(struct exit_watch *w, pid_t child);
void exits_begin(struct exit_watch *w, struct tracked *t, const struct wakeup *wakeup);

/* Takes in what was recorded. last: the job has ended, or is not watched any more. */
void exits_read(struct exit_watch *w, struct tracked *t, bool last);

/* Every process that was started is counted. */
bool exits_are_complete(const struct exit_watch *w);

void exits_close(struct exit_watch *w);
