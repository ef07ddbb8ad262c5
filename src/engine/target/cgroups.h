/* SPDX-License-Identifier: MIT
 * The cgroups the targets are in: their figures, what they allow, and whether the kernel killed
 * a process in them because memory ran out. */
#pragma once

#include "engine/target/tracked.h"
#include "source/cgroup/own.h"

/* A cgroup that a target is in, or is. */
struct around {
    struct cgroup *cgroup; /* owned unless it is a target's */
    bool is_target;
    bool was_left;       /* no target is in it any more: it is not read */
    uint64_t oom_kills;  /* its counter when it was met; UINT64_MAX: not known */
    uint64_t peak_bytes; /* the most memory it ever had until then; UINT64_MAX: not known */
};

struct cgroups {
    struct tracked *tracked;      /* borrowed */
    struct summary *summary;      /* borrowed: the limits of the targets are kept there */
    const struct own_cgroup *job; /* borrowed: made for the command; NULL: none */
    struct cgroup *own;    /* borrowed from those below: that of the command; NULL: not asked for */
    struct around *around; /* owned; each cgroup once */
    size_t count;
    size_t collected;   /* how many there were when they were last read */
    uint64_t next_ns;   /* when to read them again */
    uint64_t follow_ns; /* when to ask again which cgroups the targets are in */
};

/* Before a command is started, which will be in our own cgroup or in one that was made for it: what
 * it does in its first moments counts. */
void cgroups_prepare(struct cgroups *s, const struct own_cgroup *job);

void cgroups_open(struct cgroups *s);
void cgroups_close(struct cgroups *s);

/* Adds the figures of the cgroups to the list, when it is time. */
void cgroups_tick(struct cgroups *s, const struct frame *f, struct instance_list *list);

/* Puts the CPU times that the kernel counted for a target that is a cgroup into the row; they miss
 * no process. True: user and system time are in ticks, which do not make up the CPU time. */
bool cgroups_count(struct target *g, struct row *ret);

/* A command has ended and was not reaped: its limits, which it may have set itself, can be read for
 * the last time. */
void cgroups_last_look(struct cgroups *s);

/* How much of its limits each target of a summary has used up to now, and which were reached for
 * certain. */
void cgroups_use_limits(const struct cgroups *s, struct summary *summary);

/* Whether a process was killed because memory ran out, and which limits were reached. was_killed:
 * the tracker itself has sent SIGKILL. */
void cgroups_finish(struct cgroups *s, bool was_killed);
