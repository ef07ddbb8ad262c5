/* SPDX-License-Identifier: MIT
 * What a cgroup may use: the tightest limit of it and of its ancestors, as far as they are seen. */
#pragma once

#include "collect/cgroup_file.h"
#include "collect/cgroup_place.h"

struct cgroup_limit {
    bool known;       /* some limit is set */
    bool unlimited;   /* none is: every file that could set one was read */
    uint64_t value;   /* bytes or tasks */
    double cores;     /* of the CPU quota instead */
    const char *path; /* the cgroup that sets it, borrowed; NULL: an ancestor that is not seen */
};

enum cgroup_limit_kind {
    CGROUP_LIMIT_MEMORY,
    CGROUP_LIMIT_SWAP,
    CGROUP_LIMIT_CORES,
    CGROUP_LIMIT_TASKS,
    CGROUP_LIMIT_KINDS,
};

struct cgroup_limits {
    struct limit_source *sources; /* owned chain, the cgroup before its ancestors */
    unsigned hidden;              /* bits of kinds that ancestors which are not seen may limit */
};

/* 0 or -ENOMEM. */
int cgroup_limits_init(struct cgroup_limits *l, const struct cgroup_places *places);
void cgroup_limits_done(struct cgroup_limits *l);
void cgroup_limits_close_files(struct cgroup_limits *l);

void cgroup_limits_read(const struct cgroup_limits *l, const struct sysroot *root,
                        struct cgroup_limit ret[CGROUP_LIMIT_KINDS]);
