/* SPDX-License-Identifier: MIT
 * The cgroups the targets are in: their figures, what they allow, and whether the kernel killed
 * a process in them because memory ran out. */
#pragma once

#include "engine/target/tracked.h"
#include "source/cgroup/cgroup.h"

/* ==== The job's own =========================================================================== */

/* The cgroup that toll makes for the command it starts: what it counted for the whole, whether a
 * process left it, and its end. */

struct job_cgroup {
    struct own_cgroup own; /* its descriptor and id are for programs of bpf(2), too */
    bool has_cpu;
    struct own_cgroup_cpu cpu; /* as last read */
    uint64_t folded_ns;        /* CPU time by the books alone, as last folded */
    uint64_t check_ns;         /* when to look again for members outside */
    struct map inside;         /* pids that are in it, as last read */
    bool is_optional;          /* the command is started without it where it cannot be moved in */
    bool has_outside;          /* a member was outside: it has not counted all */
    bool is_swept;             /* cgroups that a killed toll left were looked for */
};

void job_cgroup_init(struct job_cgroup *j);

/* Before the command is started. Fails, with a sentence, only where the options insist on it. */
int job_cgroup_open(struct job_cgroup *j, struct tracked *t, struct toll_error *e);

/* Of a launched command: reads what it has counted, looks now and then for members outside. */
void job_cgroup_tick(struct job_cgroup *j, struct tracked *t, const struct frame *f);

/* What it has counted by now. */
void job_cgroup_read_cpu(struct job_cgroup *j);

/* The whole has the CPU time that was counted, and the parts follow. */
void job_cgroup_count(struct job_cgroup *j, struct target *g, bool last);

/* After the last sample: compares with what was reaped. */
void job_cgroup_reconcile(struct job_cgroup *j, struct tracked *t);

/* Removes it, or says why it stays. */
void job_cgroup_finish(struct job_cgroup *j, struct tracked *t);
void job_cgroup_close(struct job_cgroup *j, struct tracked *t);

/* A cgroup that a target is in, or is. */
struct around {
    struct cgroup *cgroup; /* owned unless it is a target's */
    bool is_target;
    bool was_left;       /* no target is in it any more: it is not read */
    uint64_t oom_kills;  /* its counter when it was met; UINT64_MAX: not known */
    uint64_t last_kills; /* what it had grown by when it was last read, */
    uint64_t kill_ns;    /* and when it was first found to have */
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
