/* SPDX-License-Identifier: MIT
 * /proc/meminfo at every tick, and /proc/vmstat, which is more expensive, every ten seconds. */
#include "source/machine/machine.h"

#include "source/collector.h"
#include "source/kernel_file.h"

/* ==== Vmstat ================================================================================== */

/* nr_free_pages 5932459
 * …
 * pswpin 0
 * pswpout 0
 * …
 * pgmajfault 19264
 * …
 * oom_kill 3
 * … */

/* A blank ends a key here. */
static const struct keyed vmstat_keys[VMSTAT_KEYS] = {
    [VMSTAT_SWAP_IN] = {"pswpin ", scan_u64},
    [VMSTAT_SWAP_OUT] = {"pswpout ", scan_u64},
    [VMSTAT_FAULTS_MAJOR] = {"pgmajfault ", scan_u64},
    [VMSTAT_OOM_KILLS] = {"oom_kill ", scan_u64},
};

int parse_vmstat(struct scan text, struct vmstat *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct vmstat v = {0};
    int seen = keyed_read(text, vmstat_keys, VMSTAT_KEYS, v.counts);
    if (seen <= 0)
        return -EBADMSG;
    v.seen = (unsigned)seen;
    *ret = v;
    return 0;
}

/* ==== Meminfo ================================================================================= */

/* MemTotal:       24682416 kB
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
 * … */

static const struct keyed meminfo_keys[MEMINFO_KEYS] = {
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
static bool meminfo_huge_pages_to_bytes(struct meminfo *m)
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
    int seen = keyed_read(text, meminfo_keys, MEMINFO_KEYS, m.bytes);
    if (seen < 0)
        return seen;
    m.seen = (unsigned)seen;
    if (!(m.seen & BIT(MEMINFO_TOTAL)) || !meminfo_huge_pages_to_bytes(&m))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ==== Machine memory ========================================================================== */

struct memory_file {
    struct kernel_file file;
    uint64_t page_bytes;
};

static int memory_file_open(void **ret_state, const struct collect_context *c)
{
    struct memory_file *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    long page = c->root->live ? sysconf(_SC_PAGESIZE) : 4096;
    s->page_bytes = (uint64_t)(page > 0 ? page : 4096);
    s->file = KERNEL_FILE_NONE;
    *ret_state = s;
    return 0;
}

static void memory_file_close(void *state)
{
    struct memory_file *s = state;
    if (!s)
        return;
    kernel_file_done(&s->file);
    free(s);
}

/* ---- meminfo --------------------------------------------------------------------------------- */

static const struct {
    enum meminfo_key key;
    enum metric_id id;
} amounts[] = {
    {MEMINFO_TOTAL, system_memory_total_bytes},
    {MEMINFO_AVAILABLE, system_memory_available_bytes},
    {MEMINFO_FREE, system_memory_free_bytes},
    {MEMINFO_BUFFERS, system_memory_buffers_bytes},
    {MEMINFO_CACHED, system_memory_cached_bytes},
    {MEMINFO_RECLAIMABLE, system_memory_reclaimable_bytes},
    {MEMINFO_ACTIVE, system_memory_active_bytes},
    {MEMINFO_INACTIVE, system_memory_inactive_bytes},
    {MEMINFO_ACTIVE_ANON, system_memory_active_anon_bytes},
    {MEMINFO_INACTIVE_ANON, system_memory_inactive_anon_bytes},
    {MEMINFO_ANON, system_memory_anon_bytes},
    {MEMINFO_SHMEM, system_memory_shmem_bytes},
    {MEMINFO_SLAB, system_memory_slab_bytes},
    {MEMINFO_DIRTY, system_memory_dirty_bytes},
    {MEMINFO_WRITEBACK, system_memory_writeback_bytes},
    {MEMINFO_HUGE_TOTAL, system_memory_huge_total_bytes},
    {MEMINFO_HUGE_FREE, system_memory_huge_free_bytes},
    {MEMINFO_SWAP_TOTAL, system_swap_total_bytes},
};

/* What is taken of a whole; unknown unless both are known. */
static void machine_memory_put_used(struct row *row, enum metric_id id, const struct meminfo *m,
                                    enum meminfo_key whole, enum meminfo_key rest)
{
    if (m->seen & BIT(whole) && m->seen & BIT(rest))
        row_put_u64(row, id, left_u64(m->bytes[whole], m->bytes[rest]));
    else
        row_unknown(row, id);
}

static void machine_memory_collect(void *state, const struct collect_context *c,
                                   struct instance_list *out)
{
    (void)out;
    struct memory_file *s = state;
    struct row *row = &c->system->read;
    struct scan text;
    struct meminfo m = {0};
    if (kernel_file_read(&s->file, c->root->proc, "meminfo", c->root->live, &text) == 0)
        parse_meminfo(text, &m);
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        if (m.seen & BIT(amounts[i].key))
            row_put_u64(row, amounts[i].id, m.bytes[amounts[i].key]);
        else
            row_unknown(row, amounts[i].id);
    }
    machine_memory_put_used(row, system_memory_used_bytes, &m, MEMINFO_TOTAL, MEMINFO_AVAILABLE);
    machine_memory_put_used(row, system_swap_used_bytes, &m, MEMINFO_SWAP_TOTAL, MEMINFO_SWAP_FREE);
}

/* ---- vmstat ---------------------------------------------------------------------------------- */

static void machine_paging_collect(void *state, const struct collect_context *c,
                                   struct instance_list *out)
{
    (void)out;
    static const enum metric_id ids[VMSTAT_KEYS] = {
        [VMSTAT_SWAP_IN] = system_swap_in_bytes,
        [VMSTAT_SWAP_OUT] = system_swap_out_bytes,
        [VMSTAT_FAULTS_MAJOR] = system_faults_major_count,
        [VMSTAT_OOM_KILLS] = system_oom_kills_count,
    };
    struct memory_file *s = state;
    struct row *row = &c->system->read;
    struct scan text;
    struct vmstat v = {0};
    if (kernel_file_read(&s->file, c->root->proc, "vmstat", c->root->live, &text) == 0)
        parse_vmstat(text, &v);
    for (unsigned k = 0; k < VMSTAT_KEYS; k++) {
        bool in_pages = metric_of(ids[k])->unit == UNIT_bytes;
        if (v.seen & 1U << k)
            row_hold_scaled(row, ids[k], v.counts[k], in_pages ? s->page_bytes : 1);
        else
            row_unknown(row, ids[k]);
    }
}

const struct collector collector_machine_memory = {
    .name = "machine_memory",
    .gives = BIT(ENTITY_SYSTEM),
    .gives_of_system = SYSTEM_BITS(memory_total_bytes, swap_used_bytes),
    .cost = COST_CHEAP,
    .open = memory_file_open,
    .collect = machine_memory_collect,
    .close = memory_file_close,
};

const struct collector collector_machine_paging = {
    .name = "machine_paging",
    .gives = BIT(ENTITY_SYSTEM),
    .gives_of_system = SYSTEM_BITS(swap_in_bytes, oom_kills_count),
    .cost = COST_SLOW, /* the longest text of all, for what changes in step with nothing */
    .open = memory_file_open,
    .collect = machine_paging_collect,
    .close = memory_file_close,
};
