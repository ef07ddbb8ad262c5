/* SPDX-License-Identifier: MIT
 * What a cgroup read and wrote, by device: io.stat of version 2, the blkio.throttle files of
 * version 1. */
#pragma once

#include "base/scan.h"

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
