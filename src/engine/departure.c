/* SPDX-License-Identifier: MIT */
#include "engine/departure.h"

#include "account/losses.h"
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
    struct member child = *m;
    membership_round_up(t, &child.process);
    for (size_t i = 0; bits && i < book_count(t); i++)
        if (t->targets[i].bit & bits)
            ledger_foreign(&t->targets[i].ledger, &child);
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

/* ---- Losses ---------------------------------------------------------------------------------- */

/* What an ancestor has inherited by now. Its figures in the books stay those of its own turn in the
 * walk: newer ones could count a child twice that was read before and reaped since. */
static bool read_inherited(void *context, struct member *m, struct handed_on *ret,
                           bool *ret_has_ended)
{
    struct toll_tracker *t = context;
    struct process now = m->process;
    struct process_source *s = source_of(m);
    if (process_read_stat(&t->reader, s, &now, DEPTH_STILL) < 0)
        return false;
    *ret_has_ended = now.has_ended;
    *ret = (struct handed_on){
        .faults = inherited_u64(&now.inherited, process_faults_minor_count),
        .cpu_ns = inherited_u64(&now.inherited, process_cpu_seconds),
    };
    if (process_read_status(&t->reader, s, &now, DEPTH_REFRESH) == 0)
        m->process.ignores_sigchld = now.ignores_sigchld;
    return true;
}

static void note_loss(struct toll_tracker *t, const struct member *m, struct member *ancestor)
{
    const struct member *parent = members_find_any(&t->members, m->process.entity.parent);
    if (ancestor->loss_told)
        return;
    ancestor->loss_told = true;
    if (parent && parent->process.is_namespace_init &&
        (parent != ancestor || ancestor->ended_meanwhile))
        outputs_note(t,
                     "process %d (%s), the init of a pid namespace, ended before its children; "
                     "their usage is a lower bound",
                     (int)parent->process.entity.pid, parent->process.entity.name);
    else if (parent == ancestor)
        outputs_note(t,
                     "process %d (%s) does not wait for its children; their usage is a lower bound",
                     (int)ancestor->process.entity.pid, ancestor->process.entity.name);
    else
        outputs_note(t,
                     "descendants of process %d (%s) ended without being waited for; their usage "
                     "is a lower bound",
                     (int)ancestor->process.entity.pid, ancestor->process.entity.name);
}

static enum loss judge(struct toll_tracker *t, struct member *m)
{
    struct losses l = {
        .members = &t->members,
        .has_all_orphans = is_launched(t),
        .is_recorded = t->replay,
        .ns_per_tick = t->reader.ns_per_tick,
        .round = t->discovery.bookings,
        .read = read_inherited,
        .context = t,
    };
    struct member *ancestor, *parent = members_find(&t->members, m->process.entity.parent);
    if (parent)
        parent->vanished_ns += row_u64(&m->process.own, process_cpu_seconds) +
                               inherited_u64(&m->process.inherited, process_cpu_seconds);
    enum loss loss = losses_judge(&l, m, &ancestor);
    if (loss != LOSS_NOT_SEEN)
        note_loss(t, m, ancestor);
    return loss;
}

/* Ancestors are still there, marked as gone, while their descendants are booked. */
void departure_book(struct toll_tracker *t, uint64_t now_ns)
{
    t->discovery.bookings++;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (!m->gone || m->in_books)
            continue;
        /* Whether the ancestor has one that is being reaped yet, or had it when its baseline was
         * read again, is not known: that proves nothing. */
        bool can_judge = m->was_seen && !m->process.is_being_reaped &&
                         t->discovery.bookings != t->discovery.first_booking;
        enum loss loss = can_judge ? judge(t, m) : LOSS_NOT_SEEN;
        for (size_t k = 0; loss == LOSS_OF_SOME && k < book_count(t); k++)
            if (m->targets & t->targets[k].bit)
                t->targets[k].ledger.losing = true;
        leave(t, m, loss == LOSS_OF_THIS ? LEFT_LOST : LEFT_INSIDE, NULL, now_ns);
    }
    members_sweep(&t->members);
}

void departure_reaped(struct toll_tracker *t, struct member *m, const struct toll_end *end,
                      uint64_t now_ns)
{
    leave(t, m, LEFT_REAPED, end, now_ns);
}
