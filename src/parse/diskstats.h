/* SPDX-License-Identifier: MIT
 * /proc/diskstats: what block devices and their partitions did. */
#pragma once

#include "base/scan.h"

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
    unsigned fields; /* how many of them this kernel tells */
    uint64_t values[DISKSTATS_FIELDS];
};

/* Cuts the next line off the text. 1, 0 behind the last one, -EBADMSG when the line is not as
 * expected: the one behind it may be. */
int parse_diskstats_line(struct scan *text, struct diskstats *ret);
