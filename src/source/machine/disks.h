/* SPDX-License-Identifier: MIT
 * /proc/diskstats: what block devices and their partitions did. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"

#include <stdint.h>

/* ==== Diskstats =============================================================================== */

/* In the order of the columns. */
enum diskstats_field {
    DISKSTATS_READS,
    DISKSTATS_READS_MERGED,
    DISKSTATS_READ_SECTORS, /* of 512 bytes, whatever blocks the device has */
    DISKSTATS_READ_MS,
    DISKSTATS_WRITES,
    DISKSTATS_WRITES_MERGED,
    DISKSTATS_WRITTEN_SECTORS,
    DISKSTATS_WRITE_MS,
    DISKSTATS_IN_FLIGHT,
    DISKSTATS_ACTIVE_MS,
    DISKSTATS_QUEUE_MS,
    DISKSTATS_DISCARDS, /* this and the following three since Linux 4.18 */
    DISKSTATS_DISCARDS_MERGED,
    DISKSTATS_DISCARDED_SECTORS,
    DISKSTATS_DISCARD_MS,
    DISKSTATS_FLUSHES, /* this and the next since Linux 5.5 */
    DISKSTATS_FLUSH_MS,
    DISKSTATS_FIELDS,
};

enum { DISKSTATS_SECTOR_BYTES = 512, DISKSTATS_NAME_BYTES = 32 };

struct diskstats {
    uint64_t major, minor;
    char name[DISKSTATS_NAME_BYTES];
    unsigned fields; /* how many of them this kernel has */
    uint64_t values[DISKSTATS_FIELDS];
};

/* Cuts the next line off the text. 1, 0 after the last one, -EBADMSG when the line is not as
 * expected: the next one may be. */
int parse_diskstats_line(struct scan *text, struct diskstats *ret);

/* ==== Disk facts ============================================================================== */

/* /sys/block: which block devices are whole ones, and what they are made of. */

enum disk_class {
    DISK_IGNORED, /* a partition, or a hidden path to a device that is counted already */
    DISK_REAL,
    DISK_STACKED, /* what it does is done again by the devices below it */
    DISK_VIRTUAL, /* made of memory or a file, or in the network */
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

/* ==== Disk history ============================================================================ */

/* Counters of a block device that never fall, whatever the kernel's own do: a device that was
 * removed and came back counts from zero again, and times in milliseconds have 32 bits. */

struct disk_history {
    uint64_t total[DISKSTATS_FIELDS]; /* of all the lives of the device */
    struct diskstats last;            /* as it was read */
    bool has_last;
};

/* was_removed: between the reading before and this one. */
void disk_history_add(struct disk_history *h, const struct diskstats *now, bool was_removed);
