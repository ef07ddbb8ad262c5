/* SPDX-License-Identifier: MIT */
#include "engine/departure.h"

#include "engine/membership.h"
#include "engine/outputs.h"

void departure_forget(struct toll_tracker *t, struct member *m)
{
    m->gone = true;
    t->members_changed = true;
    process_source_done(source_of(m), &t->reader);
}

static void tell(struct toll_tracker *t, struct member *m, enum departure how,
                 const struct toll_end *end, uint64_t now_ns)
{
    if (t->options.processes == TOLL_PROCESSES_NONE || !m->targets)
        return;
    m->process.entity.targets = m->targets;
    membership_put_wall(t, m, left_u64(now_ns, t->start_ns));
    struct process_end e = {
        .process = &m->process,
        .how = how,
        .has_status = end != NULL,
        .end = end ? *end : (struct toll_end){0},
        .elapsed_ns = left_u64(now_ns, t->start_ns),
    };
    outputs_process_end(t, &e);
}

/* ---- Where its figures go -------------------------------------------------------------------- */

/* Whether a member of the target takes over what it used. A parent that left in the same walk
 * handed it on to its own parent, if it had it: its figures are of its last look, when this child
 * was still there. */
static bool is_inherited(const struct toll_tracker *t, const struct member *m, uint64_t bit)
{
    for (unsigned hops = 0; hops < 1000; hops++) {
        const struct member *parent = members_find_any(&t->members, m->process.entity.parent);
        /* One that was a member until now may have taken it over before it parted. */
        if (!parent || parent == m || !((parent->targets | parent->parted) & bit))
            return false;
        if (!parent->gone || parent->process.has_ended)
            return true;
        m = parent;
    }
    return false;
}

/* A process that is not of a target, and whose parent is: the parent inherits what is not the
 * target's. */
static void book_foreign(struct toll_tracker *t, const struct member *m)
{
    const struct member *parent = members_find(&t->members, m->process.entity.parent);
    if (!parent)
        return;
    uint64_t rules = t->discovery.rule_bits;
    if (rules && t->target_count > 1)
        rules |= t->whole->bit;
    uint64_t bits = parent->targets & rules & ~m->targets;
    for (size_t i = 0; bits && i < book_count(t); i++)
        if (t->targets[i].bit & bits)
            ledger_foreign(&t->targets[i].ledger, m);
}

static void leave(struct toll_tracker *t, struct member *m, enum departure how,
                  const struct toll_end *end, uint64_t now_ns)
{
    departure_forget(t, m);
    m->in_books = true;
    if (!m->was_seen)
        return;
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        if (!(m->targets & g->bit))
            continue;
        bool lost = how == LEFT_LOST || (!g->is_launched && !is_inherited(t, m, g->bit));
        ledger_leave(&g->ledger, m, lost);
    }
    if (how == LEFT_INSIDE)
        book_foreign(t, m);
    tell(t, m, how, end, now_ns);
}

/* ---- Those nobody waits for ------------------------------------------------------------------ */

/* What a parent has inherited by now, to be compared with what its children had. Its figures in the
 * books stay those of its own turn in the walk: newer ones could count a child twice that was read
 * before and reaped since. */
static void judge(struct toll_tracker *t, struct member *parent, uint64_t now_ns)
{
    if (parent->judged_at_ns == now_ns)
        return;
    uint64_t before = parent->judged_at_ns ? parent->inherited_now_ns : parent->inherited_base_ns;
    parent->judged_at_ns = now_ns;
    struct process now = parent->process;
    struct process_source *s = source_of(parent);
    if (process_read_stat(&t->reader, s, &now, DEPTH_STILL) < 0 || now.has_ended)
        parent->inherited_now_ns = PARENT_HAS_ENDED;
    else
        parent->inherited_now_ns = inherited_u64(&now.inherited, process_cpu_seconds);
    parent->inherited_grown_ns = left_u64(parent->inherited_now_ns, before);
    if (process_read_status(&t->reader, s, &now, DEPTH_REFRESH) == 0)
        parent->process.ignores_sigchld = now.ignores_sigchld;
}

static bool was_lost(struct toll_tracker *t, const struct member *m, uint64_t now_ns)
{
    struct member *parent = members_find(&t->members, m->process.entity.parent);
    if (!m->was_seen || !parent)
        return false;
    judge(t, parent, now_ns);
    bool lost = ledger_was_lost(parent, m, t->reader.ns_per_tick);
    bool told = parent->loss_told;
    parent->loss_told |= lost;
    if (lost && !told)
        outputs_note(t,
                     "process %d (%s) does not wait for its children: what they used is known "
                     "only as far as it was seen",
                     (int)parent->process.entity.pid, parent->process.entity.name);
    return lost;
}

/* Parents are still there, marked as gone, while their children are booked. */
void departure_book(struct toll_tracker *t, uint64_t now_ns)
{
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (m->gone && !m->in_books)
            leave(t, m, was_lost(t, m, now_ns) ? LEFT_LOST : LEFT_INSIDE, NULL, now_ns);
    }
    members_sweep(&t->members);
}

void departure_reaped(struct toll_tracker *t, struct member *m, const struct toll_end *end,
                      uint64_t now_ns)
{
    leave(t, m, LEFT_REAPED, end, now_ns);
}
