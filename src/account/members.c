/* SPDX-License-Identifier: MIT */
#include "account/members.h"

#include <string.h>

void members_init(struct members *m, size_t payload_bytes)
{
    *m = (struct members){.payload_bytes = payload_bytes};
}

void members_done(struct members *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->order[i]);
    for (size_t i = 0; i < m->spare_count; i++)
        free(m->spare[i]);
    free(m->order);
    free(m->slots);
    free(m->spare);
    map_done(&m->by_pid);
    map_done(&m->memories);
    free(m->memory_targets);
    *m = (struct members){0};
}

struct member *members_find_any(const struct members *m, pid_t pid)
{
    uint32_t slot;
    return map_get(&m->by_pid, (uint32_t)pid, &slot) ? m->slots[slot] : NULL;
}

struct member *members_find(const struct members *m, pid_t pid)
{
    struct member *found = members_find_any(m, pid);
    return found && !found->gone ? found : NULL;
}

/* All three arrays hold at most one entry per member, so they grow together. */
static int reserve(struct members *m)
{
    if (m->count + m->spare_count < m->capacity)
        return 0;
    size_t capacity = m->capacity ? m->capacity * 2 : 32;
    struct member ***arrays[] = {&m->order, &m->slots, &m->spare};
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
        struct member **bigger = realloc(*arrays[i], capacity * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        *arrays[i] = bigger;
    }
    m->capacity = capacity;
    return 0;
}

static struct member *take_member(struct members *m)
{
    if (m->spare_count) {
        struct member *used = m->spare[--m->spare_count];
        uint32_t slot = used->slot;
        memset(used, 0, sizeof *used + m->payload_bytes);
        used->slot = slot;
        return used;
    }
    if (reserve(m) < 0)
        return NULL;
    struct member *fresh = calloc(1, sizeof *fresh + m->payload_bytes);
    if (fresh)
        fresh->slot = m->slot_count++;
    return fresh;
}

struct member *members_add(struct members *m, pid_t pid)
{
    struct member *member = take_member(m);
    if (!member)
        return NULL;
    if (map_put(&m->by_pid, (uint32_t)pid, member->slot) < 0) {
        m->spare[m->spare_count++] = member;
        return NULL;
    }
    member->process.entity.kind = ENTITY_PROCESS;
    member->process.entity.pid = pid;
    row_init(&member->process.own, ENTITY_PROCESS);
    m->slots[member->slot] = member;
    m->order[m->count++] = member;
    return member;
}

void members_sweep(struct members *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct member *member = m->order[i];
        if (!member->gone) {
            m->order[kept++] = member;
            continue;
        }
        if (members_find_any(m, member->process.entity.pid) == member)
            map_remove(&m->by_pid, (uint32_t)member->process.entity.pid);
        m->spare[m->spare_count++] = member;
    }
    m->count = kept;
}

/* The start of a hidden process is not known: it comes last, after its parent. */
static uint64_t sort_key(const struct member *m)
{
    uint64_t born = m->process.entity.start_ticks;
    return born ? born : UINT64_MAX;
}

/* Nearly always in order already, so that a look at each neighbour is all. */
void members_sort(struct members *m)
{
    for (size_t i = 1; i < m->count; i++) {
        struct member *one = m->order[i];
        uint64_t born = sort_key(one);
        size_t at = i;
        for (; at && sort_key(m->order[at - 1]) > born; at--)
            m->order[at] = m->order[at - 1];
        m->order[at] = one;
    }
}

/* ---- Memory that several have together ------------------------------------------------------- */

void members_share_memory(struct members *m, struct member *one, struct member *other)
{
    uint32_t id = one->memory_id     ? one->memory_id
                  : other->memory_id ? other->memory_id
                                     : ++m->memory_ids;
    one->memory_id = other->memory_id = id;
    one->memory_execs = one->process.execs;
    other->memory_execs = other->process.execs;
}

/* The place of the targets that have counted the memory in this round; NULL: there is no memory for
 * it. */
static uint64_t *targets_of_memory(struct members *m, uint32_t id)
{
    uint32_t place;
    if (map_get(&m->memories, id, &place))
        return &m->memory_targets[place];
    place = m->memories.count;
    if (place == m->memory_capacity) {
        size_t capacity = m->memory_capacity ? 2 * m->memory_capacity : 16;
        uint64_t *longer = realloc(m->memory_targets, capacity * sizeof *longer);
        if (!longer)
            return NULL;
        m->memory_targets = longer;
        m->memory_capacity = capacity;
    }
    if (map_put(&m->memories, id, place) < 0)
        return NULL;
    m->memory_targets[place] = 0;
    return &m->memory_targets[place];
}

void members_count_memory_once(struct members *m)
{
    map_clear(&m->memories);
    for (size_t i = 0; i < m->count; i++) {
        struct member *one = m->order[i];
        one->memory_elsewhere = 0;
        if (!one->memory_id || one->gone || !one->was_seen)
            continue;
        uint64_t *counted = targets_of_memory(m, one->memory_id);
        if (!counted)
            continue;
        one->memory_elsewhere = *counted & one->targets;
        if (!one->process.has_ended)
            *counted |= one->targets;
    }
}

const struct row *member_adds(const struct member *m, bool elsewhere, struct row *copy)
{
    if (!elsewhere)
        return &m->process.own;
    *copy = m->process.own;
    FOR_EACH_BIT(id, PROCESS_MEMORY_BITS)
    row_put_u64(copy, (enum metric_id)id, 0);
    row_unknown(copy, process_memory_peak_bytes);
    return copy;
}

uint64_t member_hides(const struct member *m)
{
    const struct process *p = &m->process;
    if (!p->has_ended || !p->denied)
        return p->denied;
    uint64_t hidden = p->denied & ~(metric_fold_mask(FOLD_SUM) | metric_fold_mask(FOLD_ONCE));
    return m->stays_ended ? hidden : hidden & ~p->denied_at_end;
}
