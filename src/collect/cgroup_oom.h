/* SPDX-License-Identifier: MIT
 * How many processes of a cgroup and of those below it were killed for want of memory. */
#pragma once

#include "collect/cgroup_file.h"
#include "collect/cgroup_place.h"

struct cgroup_oom {
    struct cgroup_file events; /* of version 2, which counts what is below, too */
    int directory;             /* of version 1, which is to be walked; owned */
    uint64_t kills; /* the most that was read: cgroups that are removed take theirs away */
    bool known;
};

void cgroup_oom_init(struct cgroup_oom *o);

/* Closes the files. What was read stays. */
void cgroup_oom_done(struct cgroup_oom *o);

/* The place of the memory controller, or NULL. */
void cgroup_oom_read(struct cgroup_oom *o, const struct sysroot *root,
                     const struct cgroup_place *place);

/* It was read elsewhere. */
void cgroup_oom_note(struct cgroup_oom *o, uint64_t kills);
