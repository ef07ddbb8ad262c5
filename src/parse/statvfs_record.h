/* SPDX-License-Identifier: MIT
 * The file `statvfs` of a recorded machine: how full its filesystems were. */
#pragma once

#include "base/scan.h"
#include "base/util.h"

/* What statvfs says of a filesystem. */
struct space {
    uint64_t block_bytes; /* f_frsize */
    uint64_t blocks;
    uint64_t blocks_free;
    uint64_t blocks_available; /* to an ordinary user */
    uint64_t files;
    uint64_t files_free;
};

struct statvfs_record {
    struct scan point; /* a window on the line, escaped as in mountinfo */
    struct space space;
};

/* One line without its newline. 0, or -EBADMSG. */
int parse_statvfs_record(struct scan line, struct statvfs_record *ret);

/* The first line for that mount point. 0; -ENODATA when there is none. */
int statvfs_record_find(struct scan text, const char *point, struct space *ret);
