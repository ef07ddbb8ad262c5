/* SPDX-License-Identifier: MIT
 * How full the filesystems are. */
#pragma once

#include "collect/collectors.h"
#include "collect/mount_table.h"

struct mounts {
    struct mount_table table;
    struct space_asker asker;
    statvfs_function *statvfs;
    char *record; /* owned: of a recorded machine, the file that stands for statvfs */
};

/* The collector's open with something else in the place of statvfs. */
int mounts_open(struct mounts **ret, const struct collect_context *c, statvfs_function *ask);
