/* SPDX-License-Identifier: MIT */
#include "account/subtree.h"

enum { DEEPEST = 1000 }; /* parents read at different times could name each other */

static bool is_below(const struct members *members, const struct member *m, pid_t pid)
{
    for (unsigned hops = 0; m && hops < DEEPEST; hops++) {
        if (m->process.entity.pid == pid)
            return true;
        m = members_find(members, m->process.entity.parent);
    }
    return false;
}

static uint64_t slow_bits(void)
{
    uint64_t bits = 0;
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (metric_of(id)->cost == COST_SLOW)
            bits |= BIT(id);
    return bits;
}

/* Whether a member before this one in the subtree shares its memory, and counts it. */
static bool counts_elsewhere(const struct members *members, size_t at, pid_t pid)
{
    const struct member *m = members->order[at];
    for (size_t i = 0; m->memory_id && i < at; i++) {
        const struct member *before = members->order[i];
        if (before->memory_id == m->memory_id && !before->gone && before->was_seen &&
            before->targets && !before->process.has_ended && is_below(members, before, pid))
            return true;
    }
    return false;
}

bool subtree_sum(const struct members *members, pid_t pid, uint64_t fresh, struct row *ret)
{
    uint64_t conserved = metric_fold_mask(FOLD_CONSERVED);
    uint64_t summed = metric_fold_mask(FOLD_SUM);
    uint64_t unread = 0, denied = 0, live = 0;
    row_init(ret, ENTITY_PROCESS);
    if (!members_find(members, pid))
        return false;
    for (size_t i = 0; i < members->count; i++) {
        const struct member *m = members->order[i];
        const struct process *p = &m->process;
        if (m->gone || !m->was_seen || !m->targets || !is_below(members, m, pid))
            continue;
        struct row copy;
        const struct row *own = member_adds(m, counts_elsewhere(members, i, pid), &copy);
        row_add(ret, own, conserved | summed | metric_fold_mask(FOLD_KEPT));
        inherited_add(ret, &p->inherited);
        live += !p->has_ended;
        unread |= p->has_ended ? 0 : ~(own->present | p->denied);
        denied |= member_hides(m);
    }
    ret->present &= ~(summed & (unread | (slow_bits() & ~fresh)));
    if (!live)
        ret->present &= ~summed;
    else
        row_put_u64(ret, process_processes_count, live);
    row_bound(ret, denied);
    return true;
}
