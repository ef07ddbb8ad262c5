/* SPDX-License-Identifier: MIT
 * /sys/block: which block devices are whole ones, and what they are made of. */
#pragma once

#include "base/sysroot.h"

#include <stdint.h>

enum disk_class {
    DISK_IGNORED, /* a partition, or a hidden path to a device that is counted already */
    DISK_REAL,
    DISK_STACKED, /* what it does is done again by the devices below it */
    DISK_VIRTUAL, /* memory or a file behind it, or a place in the network */
};

struct disk_facts {
    enum disk_class class;
    bool has_slaves; /* the devices below it are to be seen */
};

/* "disk", "stacked", "virtual": the label `class`. */
const char *disk_class_name(enum disk_class class);

/* By the name that the device has in /proc/diskstats. */
struct disk_facts disk_facts_read(const struct sysroot *root, const char *name);

/* Whether there is a whole device of that name. */
bool disk_facts_exist(const struct sysroot *root, const char *name);

/* 0 or -errno. */
int disk_facts_read_size(const struct sysroot *root, const char *name, uint64_t *ret_bytes);
