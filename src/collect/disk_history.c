/* SPDX-License-Identifier: MIT */
#include "collect/disk_history.h"

/* Times do wrap, and step back a little when CPUs are added up; these two do not. */
static bool has_restarted(const struct diskstats *last, const struct diskstats *now)
{
    return now->major != last->major || now->minor != last->minor ||
           now->values[DISKSTATS_READS] < last->values[DISKSTATS_READS] ||
           now->values[DISKSTATS_WRITES] < last->values[DISKSTATS_WRITES];
}

static bool is_time(enum diskstats_field field)
{
    return field == DISKSTATS_READ_MS || field == DISKSTATS_WRITE_MS ||
           field == DISKSTATS_ACTIVE_MS || field == DISKSTATS_QUEUE_MS ||
           field == DISKSTATS_DISCARD_MS || field == DISKSTATS_FLUSH_MS;
}

/* How much a field grew. One that fell without a restart has begun again at 32 bits, when it fell
 * by most of them. */
static uint64_t growth(enum diskstats_field field, uint64_t last, uint64_t now)
{
    if (now >= last)
        return now - last;
    bool has_wrapped = is_time(field) && last <= UINT32_MAX && last - now > UINT32_MAX / 2;
    return has_wrapped ? now + UINT32_MAX + 1 - last : 0;
}

void disk_history_add(struct disk_history *h, const struct diskstats *now, bool was_removed)
{
    bool restarted = h->has_last && (was_removed || has_restarted(&h->last, now));
    for (unsigned field = 0; field < now->fields; field++) {
        uint64_t from = h->has_last && !restarted ? h->last.values[field] : 0;
        h->total[field] += growth(field, from, now->values[field]);
    }
    h->last = *now;
    h->has_last = true;
}
