/* SPDX-License-Identifier: MIT
 * Reaping what ends as a child of the tracker: the command, and orphans of the job that come home
 * because the tracker is a subreaper. What they used, with all that they had reaped themselves, is
 * then in the tracker's own accounts, to the microsecond and the byte. */
#pragma once

#include "engine/step.h"
#include "engine/target/tracked.h"
#include "source/proc/task_records.h"

/* Remembers what was in those accounts before. */
void reap_begin(struct tracked *t);

/* The next child that has ended: 1 and its pid, which is 0 where the kernel does not say which one
 * before it is reaped; 0 when no child has ended; or -errno. */
int reap_find(struct tracked *t, pid_t *ret);

/* Whether to walk before that child is reaped: as long as it is not, it shows what it has
 * inherited, and its children that left unseen can be judged. spacing_ns: not more often. */
bool reap_wants_walk(const struct tracked *t, pid_t pid, uint64_t spacing_ns, uint64_t now_ns);

/* Reads that child a last time and reaps it; pid 0: whichever it is, unread. 1; 0 when it was not
 * reaped; or -errno. */
int reap_one(struct tracked *t, pid_t pid, uint64_t now_ns);

/* After the last of them: result: of reap_find or reap_one. Books what was reaped. */
void reap_end(struct tracked *t, int result, bool has_reaped);

/* What a status as wait4 returns it means. */
struct toll_end reap_end_of(int status);

/* Reaps helpers of the tracker, and nothing else. of_job: their usage is taken out of the job's. */
void reap_helpers(struct tracked *t, bool of_job);

/* Puts what was reaped so far into the ledger; usage and io count from the launch on, io NULL: not
 * known. */
void reap_book(struct tracked *t, const struct rusage *usage, const struct pid_io *io);

/* ==== Task records ============================================================================ */

/* Watching every process of a command start and end (options.watch_exits), by the kernel's records:
 * counts them, and proves that a process was discarded that no look has seen. */

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
    uint64_t taken_ns; /* when records were last taken */
};

/* For the child that is going to execute the command. Where the kernel refuses, the run goes on
 * without, and exits_begin says so. */
void exits_open(struct exit_watch *w, pid_t child);
void exits_begin(struct exit_watch *w, struct tracked *t, const struct wakeup *wakeup);

/* Takes in what was recorded. last: the job has ended, or is not watched any more. */
void exits_read(struct exit_watch *w, struct tracked *t, bool last);

/* When they are to be taken in at the latest: what has no room is dropped. */
uint64_t exits_due(const struct exit_watch *w);

/* Every process that was started is counted. */
bool exits_are_complete(const struct exit_watch *w);

void exits_close(struct exit_watch *w);
