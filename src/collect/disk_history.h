/* SPDX-License-Identifier: MIT
 * Counters of a block device that never fall, whatever the kernel's own do: a device that was
 * removed and came back counts from zero again, and times in milliseconds have 32 bits. */
#pragma once

#include "parse/diskstats.h"

struct disk_history {
    uint64_t total[DISKSTATS_FIELDS]; /* of all the lives of the device */
    struct diskstats last;            /* as it was read */
    bool has_last;
};

/* was_removed: between the reading before and this one. */
void disk_history_add(struct disk_history *h, const struct diskstats *now, bool was_removed);
