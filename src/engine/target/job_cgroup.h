/* SPDX-License-Identifier: MIT
 * The cgroup that toll makes for the command it starts: what it counted for the whole, whether a
 * process left it, and its end. */
#pragma once

#include "engine/target/tracked.h"
#include "source/cgroup/own.h"

struct job_cgroup {
    struct own_cgroup own; /* its descriptor and id are for programs of bpf(2), too */
    bool has_cpu;
    struct own_cgroup_cpu cpu; /* as last read */
    uint64_t folded_ns;        /* CPU time by the books alone, as last folded */
    uint64_t check_ns;         /* when to look again for members outside */
    struct map inside;         /* pids that are in it, as last read */
    bool has_outside;          /* a member was seen outside: it has not counted all */
    bool is_swept;             /* cgroups that a killed toll left were looked for */
};

void job_cgroup_init(struct job_cgroup *j);

/* Before the command is started. Fails, with a sentence, only where the options insist on it. */
int job_cgroup_open(struct job_cgroup *j, struct tracked *t, struct toll_error *e);

/* Of a launched command: reads what it has counted, looks now and then for members outside. */
void job_cgroup_tick(struct job_cgroup *j, struct tracked *t, const struct frame *f);

/* The whole has the CPU time that was counted, and the parts follow. */
void job_cgroup_count(struct job_cgroup *j, struct target *g, bool last);

/* After the last sample: compares with what was reaped. */
void job_cgroup_reconcile(struct job_cgroup *j, struct tracked *t);

/* Removes it, or says why it stays. */
void job_cgroup_finish(struct job_cgroup *j, struct tracked *t);
void job_cgroup_close(struct job_cgroup *j, struct tracked *t);
