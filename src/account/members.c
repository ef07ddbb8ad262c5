/* SPDX-License-Identifier: MIT */
#include "account/members.h"

#include "base/memory.h"

#include <string.h>

/* ==== Losses ================================================================================== */

/* The kernel cuts user and system time to ticks, each before and after, and a baseline is rounded
 * up: two ticks of each may be missing. Where it measures them apart from the CPU clock, the two
 * differ a little. */
enum { TICKS_IN_DOUBT = 4, SHARE_IN_DOUBT = 64 };

enum { GENERATIONS_AT_MOST = 1000 };

void losses_before_look(struct member *m)
{
    m->inherited_before = (struct handed_on){0};
    m->parent_before = m->process.entity.parent;
    if (!m->process.inherited.present)
        return;
    m->inherited_before = (struct handed_on){
        .faults = inherited_u64(&m->process.inherited, process_faults_minor_count),
        .cpu_ns = inherited_u64(&m->process.inherited, process_cpu_seconds),
    };
}

/* Its parent has at least this from it, without the members that left in this walk. */
static void add_least(struct handed_on *sum, const struct member *m)
{
    const struct row *own = &m->process.own;
    sum->faults += row_u64(own, process_faults_minor_count) + m->inherited_before.faults;
    sum->cpu_ns += row_u64(own, process_cpu_seconds) + m->inherited_before.cpu_ns;
}

static bool losses_exceeds(const struct losses *l, const struct handed_on *expected,
                           const struct member *heir)
{
    uint64_t certain_ns = expected->cpu_ns - expected->cpu_ns / SHARE_IN_DOUBT;
    if (certain_ns > heir->arrived.cpu_ns + TICKS_IN_DOUBT * l->ns_per_tick)
        return true;
    bool is_in_time = !l->is_recorded || heir->process.ignores_sigchld;
    return is_in_time && expected->faults > heir->arrived.faults;
}

/* Once in a round, for all members that should have come to it. */
static bool read_arrived(const struct losses *l, struct member *m)
{
    if (m->losses_round != l->round) {
        struct handed_on now;
        m->losses_round = l->round;
        m->expected = (struct handed_on){0};
        m->arrived_is_known = l->read(l->context, m, &now, &m->ended_meanwhile);
        if (m->arrived_is_known)
            m->arrived = (struct handed_on){
                .faults = left_u64(now.faults, m->inherited_before.faults),
                .cpu_ns = left_u64(now.cpu_ns, m->inherited_before.cpu_ns),
            };
    }
    return m->arrived_is_known;
}

/* A pid that is in use again is a younger process. Attached, members are in the order of their
 * start: of two with the same one, the child may have been read before its parent. */
static struct member *losses_find_parent(const struct losses *l, const struct member *m, pid_t pid)
{
    struct member *parent = members_find_any(l->members, pid);
    if (!parent || parent == m || !parent->was_seen)
        return NULL;
    uint64_t born = m->process.entity.start_ticks, before = parent->process.entity.start_ticks;
    return before < born || (before == born && l->has_all_orphans) ? parent : NULL;
}

/* Its parent has ended, before it or after. Which members are subreapers does not show: each
 * ancestor it had at its last look may have inherited it, by itself or with one that did and left
 * since. So all of them must be known, up to the one the tracker started, and none may have been
 * reaped by the tracker, which would have the figures then. */
static enum loss judge_orphan(const struct losses *l, struct member *m, struct member *parent,
                              struct member **ret_ancestor)
{
    struct handed_on least = {0}, path = {0};
    struct member *heir = NULL;
    bool is_in_none = true, is_only_in_heir = true;
    add_least(&least, m);
    bool has_faults = least.faults > 0;
    path = least;
    unsigned i = 0;
    for (struct member *above = parent;; i++) {
        if (!above || i == GENERATIONS_AT_MOST)
            return LOSS_NOT_SEEN;
        if (above->gone && !heir)
            add_least(&path, above);
        /* It never leaves its pid namespace, but with the init of it. */
        if (above->gone && above->process.is_namespace_init)
            add_least(&least, above);
        if (!above->gone) {
            if (!read_arrived(l, above))
                return LOSS_NOT_SEEN;
            is_in_none &= losses_exceeds(l, &least, above);
            if (heir)
                is_only_in_heir &= !above->arrived.faults && !above->arrived.cpu_ns;
            else
                heir = above;
            if (above->process.is_namespace_init)
                break;
        }
        if (above->parent_before == l->tracker) {
            if (above->gone)
                return LOSS_NOT_SEEN;
            break;
        }
        struct member *next = losses_find_parent(l, above, above->parent_before);
        /* One that has entered a pid namespace leaves its orphans to the init in there. */
        if (next && next->process.pid_namespaces != above->process.pid_namespaces &&
            !above->process.is_namespace_init)
            return LOSS_NOT_SEEN;
        above = next;
    }
    *ret_ancestor = heir;
    if (is_in_none)
        return LOSS_OF_THIS;
    if (!is_only_in_heir || !has_faults)
        return LOSS_NOT_SEEN;
    add_least(&heir->expected, m);
    return losses_exceeds(l, &path, heir) || losses_exceeds(l, &heir->expected, heir)
               ? LOSS_OF_SOME
               : LOSS_NOT_SEEN;
}

enum loss losses_judge(const struct losses *l, struct member *m, struct member **ret_ancestor)
{
    struct member *parent = losses_find_parent(l, m, m->process.entity.parent);
    if (!parent || (!parent->gone && !read_arrived(l, parent)))
        return LOSS_NOT_SEEN;
    if (parent->gone || parent->ended_meanwhile)
        return l->has_all_orphans ? judge_orphan(l, m, parent, ret_ancestor) : LOSS_NOT_SEEN;
    struct handed_on least = {0};
    *ret_ancestor = parent;
    add_least(&least, m);
    if (losses_exceeds(l, &least, parent))
        return LOSS_OF_THIS;
    add_least(&parent->expected, m);
    return losses_exceeds(l, &parent->expected, parent) ? LOSS_OF_SOME : LOSS_NOT_SEEN;
}

/* ==== Subtree ================================================================================= */

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
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (metric_of(id)->cost == COST_SLOW && !(fresh & BIT(id)))
            unread |= BIT(id);
    ret->present &= ~(summed & unread);
    if (!live)
        ret->present &= ~summed;
    else
        row_put_u64(ret, process_processes_count, live);
    row_bound(ret, denied);
    return true;
}

/* ==== Members ================================================================================= */

void members_init(struct members *m, size_t payload_bytes)
{
    *m = (struct members){.payload_bytes = payload_bytes};
}

void members_done(struct members *m)
{
    for (size_t i = 0; i < m->count; i++) {
        free(m->order[i]->process.command);
        free(m->order[i]);
    }
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
static int members_reserve(struct members *m)
{
    size_t wanted = m->count + m->spare_count + 1, capacity = m->capacity;
    struct member ***arrays[] = {&m->order, &m->slots, &m->spare};
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
        capacity = m->capacity;
        if (!ARRAY_RESERVE(*arrays[i], capacity, wanted))
            return -ENOMEM;
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
    if (members_reserve(m) < 0)
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
        free(member->process.command);
        member->process.command = NULL;
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
    if (!ARRAY_RESERVE(m->memory_targets, m->memory_capacity, place + 1))
        return NULL;
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

uint64_t member_inherited_io(const struct member *m, enum metric_id id)
{
    return m->process.splits_io ? inherited_u64(&m->process.inherited, id)
                                : row_u64(&m->process.own, id);
}

uint64_t member_hides(const struct member *m)
{
    const struct process *p = &m->process;
    if (!p->has_ended || !p->denied)
        return p->denied;
    uint64_t hidden = p->denied & ~(metric_fold_mask(FOLD_SUM) | metric_fold_mask(FOLD_ONCE));
    return m->stays_ended ? hidden : hidden & ~p->denied_at_end;
}
