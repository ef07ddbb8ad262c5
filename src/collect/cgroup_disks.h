/* SPDX-License-Identifier: MIT
 * What a cgroup read from and wrote to each block device, and to all of them. */
#pragma once

#include "collect/cgroup_file.h"
#include "collect/cgroup_place.h"
#include "metric/frame.h"

struct cgroup_disks {
    struct cgroup_disk *first;   /* owned chain; what was once seen stays */
    const char *cgroup;          /* borrowed: the name for the labels */
    struct cgroup_file files[5]; /* io.stat, or those of blkio */
    bool begun;
};

void cgroup_disks_init(struct cgroup_disks *d, const char *cgroup);
void cgroup_disks_done(struct cgroup_disks *d);

/* What was read of the devices stays. */
void cgroup_disks_close_files(struct cgroup_disks *d);

/* Adds the devices to the list, and their sum to the row of the cgroup. */
void cgroup_disks_collect(struct cgroup_disks *d, const struct sysroot *root,
                          const struct cgroup_places *places, struct row *row,
                          struct measured_list *out);
