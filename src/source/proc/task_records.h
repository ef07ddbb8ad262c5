/* SPDX-License-Identifier: MIT
 * The kernel's records of every process that a command and its descendants start, and of every one
 * that ends, for an ordinary user too. They miss no process, however short it lived. They have no
 * CPU time. There are two sources:
 *
 * perf_event_open: the kernel writes into one ring of fixed size for each CPU and never waits for
 * the reader: what does not fit is dropped and counted. It stops recording a process that executes
 * a program with another user or group (setuid), and with it all its descendants. That shows as an
 * end directly after exec, before anything of the program was mapped.
 *
 * Process events (the connector of netlink), where the first is refused: those of all processes of
 * the machine, since Linux 6.6 for every user, but not in a user, pid or network namespace. Each
 * CPU numbers its events, so that one that was dropped shows. They are read when the caller comes:
 * to be woken for each would cost more than all else. */
#pragma once

#include "base/memory.h"

#include <sys/types.h>

/* A process that ended. */
struct task_exit {
    pid_t pid;
    pid_t parent;
    uint64_t at_ns;  /* by the monotonic clock: its end, or a moment of its life before that */
    bool has_execed; /* such a process had page faults, a child of vfork need not have any */
};

struct task_ring;
struct process_events;

struct task_records {
    struct task_ring *rings; /* owned, one for each CPU */
    size_t ring_count;
    struct process_events *events; /* owned; NULL: records come from the rings */
    uint64_t started;              /* processes, without the command itself */
    bool is_incomplete;            /* records were dropped, or a process is not recorded any more */
    struct map execs;              /* pid -> how far its last exec came, or when it was */
    struct task_exit *exits;       /* owned: those that the last reading found */
    struct map own_children;       /* of this process, that began in the last reading, as keys: they
                                    * are not counted, but may be the command's (CLONE_PARENT) */
    size_t exit_count;
    size_t exit_capacity;
};

/* For a process that has not called exec yet: records begin there. 0 or -errno: -EACCES or -EPERM
 * when the kernel's settings or a sandbox do not allow it, -ENOMEM when too little memory may be
 * locked, -ENOSYS when there is no such call. */
int task_records_open(struct task_records *r, pid_t pid);

/* How often to read them, 0: as the descriptors show. */
uint64_t task_records_interval(const struct task_records *r);

/* The descriptor of a ring that is readable when it is half full, or -1 after the last. */
int task_records_fd(const struct task_records *r, size_t ring);

/* Takes in the records; exits holds those of this reading. all: also those of the last moment,
 * which may come in the wrong order while the job goes on. */
void task_records_read(struct task_records *r, bool all);

void task_records_close(struct task_records *r);
