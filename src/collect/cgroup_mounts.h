/* SPDX-License-Identifier: MIT
 * The cgroup hierarchies that are mounted. */
#pragma once

#include "base/sysroot.h"

struct cgroup_mounts {
    struct mounted_hierarchy {
        bool v2;
        char *root;    /* owned: what of the hierarchy is mounted, "/" for all of it */
        char *point;   /* owned: where, "/sys/fs/cgroup" */
        char *options; /* owned: "rw,cpu,cpuacct" */
    } * list;          /* owned */
    size_t count;
};

/* 0, also when there is none; or -errno. */
int cgroup_mounts_read(struct cgroup_mounts *ret, const struct sysroot *root);
void cgroup_mounts_done(struct cgroup_mounts *m);

/* What a path has below another: "/x" of "/a/x" below "/a", "" of "/a" itself; NULL when it is not
 * below. */
const char *cgroup_path_below(const char *path, const char *above);
