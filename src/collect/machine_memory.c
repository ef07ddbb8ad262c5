/* SPDX-License-Identifier: MIT
 * /proc/meminfo at every tick, and /proc/vmstat, which is dearer, once a second. */
#include "collect/kernel_file.h"
#include "collect/machine_row.h"
#include "parse/meminfo.h"
#include "parse/vmstat.h"

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
static void put_used(struct row *row, enum metric_id id, const struct meminfo *m,
                     enum meminfo_key whole, enum meminfo_key rest)
{
    if (m->seen & BIT(whole) && m->seen & BIT(rest))
        row_put_u64(row, id, left_u64(m->bytes[whole], m->bytes[rest]));
    else
        row_unknown(row, id);
}

static void machine_memory_collect(void *state, const struct collect_context *c,
                                   struct measured_list *out)
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
    put_used(row, system_memory_used_bytes, &m, MEMINFO_TOTAL, MEMINFO_AVAILABLE);
    put_used(row, system_swap_used_bytes, &m, MEMINFO_SWAP_TOTAL, MEMINFO_SWAP_FREE);
}

/* ---- vmstat ---------------------------------------------------------------------------------- */

static void machine_paging_collect(void *state, const struct collect_context *c,
                                   struct measured_list *out)
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
            row_put_held_scaled(row, ids[k], v.counts[k], in_pages ? s->page_bytes : 1);
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
