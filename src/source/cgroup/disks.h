/* SPDX-License-Identifier: MIT
 * What a cgroup read from and wrote to each block device, and to all of them. */
#pragma once

#include "base/text/scan.h"
#include "metric/frame.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/place.h"

/* ==== Cgroup disks ============================================================================ */

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
                          struct instance_list *out);

/* ==== Cgroup io =============================================================================== */

/* What a cgroup read and wrote, by device: io.stat of version 2, the blkio.throttle files of
 * version 1. */

struct cgroup_io {
    unsigned major, minor;
    bool has_values; /* false for a device that nothing was counted for: the rest is 0 */
    uint64_t read_bytes, written_bytes;
    uint64_t reads, writes;
};

/* The next device of io.stat: 1, 0 at the end of the text, or -EBADMSG. A bad line is consumed, so
 * that one can go on behind it. */
int parse_cgroup_io(struct scan *text, struct cgroup_io *ret);

struct cgroup_blkio {
    unsigned major, minor;
    bool is_write;
    uint64_t value; /* bytes or operations */
};

/* The next line of version 1 that counts reads or writes of a device; as above. */
int parse_cgroup_blkio(struct scan *text, struct cgroup_blkio *ret);
