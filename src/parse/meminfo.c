/* SPDX-License-Identifier: MIT
 *
 * MemTotal:       24682416 kB
 * MemFree:        23729836 kB
 * MemAvailable:   24024612 kB
 * Buffers:           84556 kB
 * Cached:           537488 kB
 * …
 * HugePages_Total:       0
 * HugePages_Free:        0
 * HugePages_Rsvd:        0
 * HugePages_Surp:        0
 * Hugepagesize:       2048 kB
 * …
 */
#include "parse/meminfo.h"

#include "parse/keyed.h"

static const struct keyed keys[MEMINFO_KEYS] = {
    [MEMINFO_TOTAL] = {"MemTotal:", keyed_kib},
    [MEMINFO_AVAILABLE] = {"MemAvailable:", keyed_kib},
    [MEMINFO_FREE] = {"MemFree:", keyed_kib},
    [MEMINFO_BUFFERS] = {"Buffers:", keyed_kib},
    [MEMINFO_CACHED] = {"Cached:", keyed_kib},
    [MEMINFO_RECLAIMABLE] = {"SReclaimable:", keyed_kib},
    [MEMINFO_ACTIVE] = {"Active:", keyed_kib},
    [MEMINFO_INACTIVE] = {"Inactive:", keyed_kib},
    [MEMINFO_ACTIVE_ANON] = {"Active(anon):", keyed_kib},
    [MEMINFO_INACTIVE_ANON] = {"Inactive(anon):", keyed_kib},
    [MEMINFO_ANON] = {"AnonPages:", keyed_kib},
    [MEMINFO_SHMEM] = {"Shmem:", keyed_kib},
    [MEMINFO_SLAB] = {"Slab:", keyed_kib},
    [MEMINFO_DIRTY] = {"Dirty:", keyed_kib},
    [MEMINFO_WRITEBACK] = {"Writeback:", keyed_kib},
    [MEMINFO_SWAP_TOTAL] = {"SwapTotal:", keyed_kib},
    [MEMINFO_SWAP_FREE] = {"SwapFree:", keyed_kib},
    [MEMINFO_HUGE_TOTAL] = {"HugePages_Total:", scan_u64},
    [MEMINFO_HUGE_FREE] = {"HugePages_Free:", scan_u64},
    [MEMINFO_HUGE_SIZE] = {"Hugepagesize:", keyed_kib},
};

/* Huge pages are counted in pages. Without the size of one they are unknown. */
static bool huge_pages_to_bytes(struct meminfo *m)
{
    static const enum meminfo_key counts[] = {MEMINFO_HUGE_TOTAL, MEMINFO_HUGE_FREE};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        uint64_t *pages = &m->bytes[counts[i]];
        if (!(m->seen & BIT(MEMINFO_HUGE_SIZE)))
            m->seen &= ~(1U << counts[i]);
        else if (__builtin_mul_overflow(*pages, m->bytes[MEMINFO_HUGE_SIZE], pages))
            return false;
    }
    return true;
}

int parse_meminfo(struct scan text, struct meminfo *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct meminfo m = {0};
    int seen = keyed_read(text, keys, MEMINFO_KEYS, m.bytes);
    if (seen < 0)
        return seen;
    m.seen = (unsigned)seen;
    if (!(m.seen & BIT(MEMINFO_TOTAL)) || !huge_pages_to_bytes(&m))
        return -EBADMSG;
    *ret = m;
    return 0;
}
