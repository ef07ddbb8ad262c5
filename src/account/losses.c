/* SPDX-License-Identifier: MIT */
#include "account/losses.h"

/* The kernel cuts user and system time to ticks, each before and after, and a baseline is rounded
 * up: two ticks of each may be missing. Where it measures them apart from the CPU clock, the two
 * differ a little. */
enum { TICKS_IN_DOUBT = 4, SHARE_IN_DOUBT = 64 };

enum { GENERATIONS_AT_MOST = 1000 };

static struct handed_on inherited_by(const struct process *p)
{
    return (struct handed_on){
        .faults = inherited_u64(&p->inherited, process_faults_minor_count),
        .cpu_ns = inherited_u64(&p->inherited, process_cpu_seconds),
    };
}

void losses_before_look(struct member *m)
{
    m->inherited_before = inherited_by(&m->process);
}

/* Its parent has at least this from it, without the members that left in this walk. */
static void add_least(struct handed_on *sum, const struct member *m)
{
    const struct row *own = &m->process.own;
    sum->faults += row_u64(own, process_faults_minor_count) + m->inherited_before.faults;
    sum->cpu_ns += row_u64(own, process_cpu_seconds) + m->inherited_before.cpu_ns;
}

static bool exceeds(const struct losses *l, const struct handed_on *expected,
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
static struct member *find_parent(const struct losses *l, const struct member *m)
{
    struct member *parent = members_find_any(l->members, m->process.entity.parent);
    if (!parent || parent == m || !parent->was_seen)
        return NULL;
    uint64_t born = m->process.entity.start_ticks, before = parent->process.entity.start_ticks;
    return before < born || (before == born && l->has_all_orphans) ? parent : NULL;
}

/* Which members are subreapers does not show. One above may have taken an orphan over. */
static bool may_be_above(const struct losses *l, const struct member *m)
{
    for (unsigned i = 0; i < GENERATIONS_AT_MOST; i++) {
        struct member *above = find_parent(l, m);
        if (!above)
            return false;
        if (!above->gone && (!read_arrived(l, above) || above->arrived.faults))
            return true;
        m = above;
    }
    return true;
}

enum loss losses_judge(const struct losses *l, struct member *m, struct member **ret_ancestor)
{
    /* Ancestors that left with it should have handed it on with what they had themselves. */
    struct handed_on path = {0};
    bool is_child = true, in_namespace = false;
    add_least(&path, m);
    struct member *heir = find_parent(l, m);
    for (unsigned i = 0; heir && heir->gone && i < GENERATIONS_AT_MOST; i++) {
        add_least(&path, heir);
        is_child = false;
        in_namespace |= heir->process.is_namespace_init;
        heir = find_parent(l, heir);
    }
    if (!heir || heir->gone || !read_arrived(l, heir))
        return LOSS_NOT_SEEN;

    /* An orphan goes to another ancestor, but never out of its pid namespace. */
    if (!is_child || heir->ended_meanwhile) {
        in_namespace |= heir->ended_meanwhile && heir->process.is_namespace_init;
        if (!l->has_all_orphans || (!in_namespace && may_be_above(l, heir)))
            return LOSS_NOT_SEEN;
    }
    *ret_ancestor = heir;
    if (exceeds(l, &path, heir))
        return LOSS_OF_THIS;
    add_least(&heir->expected, m);
    return exceeds(l, &heir->expected, heir) ? LOSS_OF_SOME : LOSS_NOT_SEEN;
}
