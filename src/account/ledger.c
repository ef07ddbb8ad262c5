/* SPDX-License-Identifier: MIT */
#include "account/ledger.h"

void ledger_init(struct ledger *l, bool own_only)
{
    *l = (struct ledger){.own_only = own_only};
    for (unsigned fold = 0; fold < FOLD_NONE; fold++)
        l->folds[fold] = metric_fold_mask(fold);
    row_init(&l->reaped, ENTITY_PROCESS);
    row_init(&l->lost, ENTITY_PROCESS);
    row_init(&l->departed, ENTITY_PROCESS);
    row_init(&l->main_left, ENTITY_PROCESS);
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&l->held[part], ENTITY_PROCESS);
}

/* sum += r, for the metrics of the mask that r knows. */
static void add(struct row *sum, const struct row *r, uint64_t mask)
{
    FOR_EACH_BIT(id, mask & r->present)
    row_put_u64(sum, id, row_u64(sum, id) + r->values[id].u);
}

static void take_larger(struct row *most, const struct row *r, uint64_t mask)
{
    FOR_EACH_BIT(id, mask & r->present)
    row_put_u64(most, id, max_u64(row_u64(most, id), r->values[id].u));
}

void ledger_leave(struct ledger *l, const struct member *m, bool lost)
{
    const struct process *p = &m->process;
    add(&l->departed, &p->own, l->folds[FOLD_KEPT]);
    take_larger(&l->departed, &p->own, l->folds[FOLD_MAX]);
    l->ignoring |= p->ignores_sigchld;
    if (lost) {
        add(&l->lost, &p->own, l->folds[FOLD_CONSERVED]);
        add(&l->lost, &p->inherited, l->folds[FOLD_CONSERVED]);
        l->losing = true;
    }
    if (m->is_main) {
        l->main_left = p->own;
        l->main_has_left = true;
        l->main_fresh = p->has_ended ? p->fresh : 0;
    }
}

bool ledger_was_lost(struct member *parent, const struct member *child, uint64_t ns_per_tick)
{
    uint64_t cpu = row_u64(&child->process.own, process_cpu_seconds) +
                   row_u64(&child->process.inherited, process_cpu_seconds);
    parent->vanished_ns += cpu;
    if (parent->inherited_now_ns == PARENT_HAS_ENDED)
        return false;
    /* What left and did not arrive. SA_NOCLDWAIT does what ignoring SIGCHLD does and shows nowhere
     * but here; a parent that ignored the signal once may wait for its next child. User and system
     * time are rounded down to ticks, each on its own. */
    uint64_t inherited = left_u64(parent->inherited_now_ns, parent->inherited_base_ns);
    uint64_t gap = left_u64(parent->vanished_ns, inherited + parent->lost_ns);
    bool ignored = parent->process.ignores_sigchld && parent->inherited_grown_ns < cpu;
    if (gap <= 3 * ns_per_tick && !ignored)
        return false;
    parent->lost_ns += cpu;
    return true;
}

/* ---- Summing up ------------------------------------------------------------------------------ */

static void add_member(struct ledger *l, const struct member *m)
{
    struct ledger_sums *s = &l->sums;
    const struct process *p = &m->process;
    bool zombie = p->has_ended;
    s->live += !zombie;
    s->live_others += !zombie && !m->is_main;
    l->denied |= p->denied;
    l->ignoring |= p->ignores_sigchld;
    if (!zombie) {
        uint64_t unread = ~(p->own.present | p->denied);
        s->unread |= unread;
        s->unread_others |= m->is_main ? 0 : unread;
    }
    add(&s->all, &p->own, l->folds[FOLD_SUM] | l->folds[FOLD_CONSERVED] | l->folds[FOLD_KEPT]);
    take_larger(&s->all, &p->own, l->folds[FOLD_MAX]);
    if (!l->own_only)
        add(&s->all, &p->inherited, l->folds[FOLD_CONSERVED]);
    if (!m->is_main) {
        add(&s->others, &p->own, l->folds[FOLD_SUM]);
        take_larger(&s->others, &p->own, l->folds[FOLD_MAX]);
    }
}

/* What the target has of one metric, in words of the fold (see the head of ledger.h). */
static bool combine(const struct ledger *l, const struct ledger_sums *s, enum metric_id id,
                    uint64_t *ret)
{
    bool alive = row_has(&s->all, id);
    uint64_t value = row_u64(&s->all, id);
    switch (metric_of(id)->fold) {
    case FOLD_CONSERVED:
        if (l->own_only)
            *ret = max_u64(value, row_u64(&l->main_left, id));
        else
            *ret = value + row_u64(&l->reaped, id) + row_u64(&l->lost, id);
        return alive || row_has(l->own_only ? &l->main_left : &l->reaped, id);
    case FOLD_KEPT:
        *ret = value +
               max_u64(l->own_only ? 0 : row_u64(&l->reaped, id), row_u64(&l->departed, id));
        return alive || row_has(&l->departed, id) || (!l->own_only && row_has(&l->reaped, id));
    case FOLD_MAX:
        value = max_u64(value, row_u64(&l->departed, id));
        *ret = max_u64(value, l->own_only ? 0 : row_u64(&l->reaped, id));
        return alive || row_has(&l->departed, id) || (!l->own_only && row_has(&l->reaped, id));
    case FOLD_SUM: *ret = value; return s->live && alive && !(s->unread >> id & 1);
    case FOLD_WHOLE:
    case FOLD_RATE:
    case FOLD_NONE: break;
    }
    return false;
}

/* A counter that was published never falls. */
static void publish(struct ledger *l, struct row *out, enum part part, enum metric_id id,
                    uint64_t value)
{
    if (metric_of(id)->kind == METRIC_COUNTER) {
        value = max_u64(value, row_u64(&l->held[part], id));
        row_put_u64(&l->held[part], id, value);
    }
    row_put_u64(out, id, value);
}

/* It was found first, and the order is kept. */
static const struct process *find_main(const struct members *members)
{
    struct member *first = members->count ? members->order[0] : NULL;
    return first && first->is_main && !first->gone ? &first->process : NULL;
}

/* The main process as it is, or its counters as it ended. */
static void fold_main(struct ledger *l, const struct members *members, struct row *out)
{
    const struct process *p = find_main(members);
    const struct row *own = p ? &p->own : &l->main_left;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        bool ended_gauge = !p && metric_of(id)->fold == FOLD_SUM;
        if (row_has(own, id) && metric_of(id)->fold < FOLD_WHOLE && !ended_gauge)
            publish(l, out, PART_MAIN, id, row_u64(own, id));
    }
    if (p)
        row_put_u64(out, process_processes_count, !p->has_ended);
    row_put_u64(out, process_processes_started_count, 1);
}

static void fold_descendants(struct ledger *l, const struct ledger_sums *s,
                             const struct row *combined, const struct row *main, bool last,
                             struct row *out)
{
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        switch (metric_of(id)->fold) {
        case FOLD_CONSERVED:
        case FOLD_KEPT:
            if (row_has(combined, id) && row_has(main, id)) {
                uint64_t rest = left_u64(row_u64(combined, id), row_u64(main, id));
                if (last)
                    row_put_u64(out, id, rest); /* at the end the parts add up */
                else
                    publish(l, out, PART_DESCENDANTS, id, rest);
            }
            break;
        case FOLD_SUM:
            if (s->live_others ? row_has(&s->others, id) && !(s->unread_others >> id & 1)
                               : row_has(combined, id))
                row_put_u64(out, id, row_u64(&s->others, id));
            break;
        case FOLD_MAX:
            if (row_has(&s->others, id))
                row_put_u64(out, id, row_u64(&s->others, id));
            break;
        case FOLD_WHOLE:
        case FOLD_RATE:
        case FOLD_NONE: break;
        }
    }
    if (s->live)
        row_put_u64(out, process_processes_count, s->live_others);
    row_put_u64(out, process_processes_started_count, left_u64(l->started, 1));
}

static void sum_up(struct ledger *l, const struct members *members)
{
    l->sums = (struct ledger_sums){0};
    row_init(&l->sums.all, ENTITY_PROCESS);
    row_init(&l->sums.others, ENTITY_PROCESS);
    l->denied = 0;
    for (size_t i = 0; i < members->count; i++)
        if (members->order[i]->was_seen && !members->order[i]->gone)
            add_member(l, members->order[i]);
}

void ledger_fold(struct ledger *l, const struct members *members, bool changed, bool last,
                 struct row parts[PARTS])
{
    const struct ledger_sums *s = &l->sums;
    if (changed)
        sum_up(l, members);
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&parts[part], ENTITY_PROCESS);
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        uint64_t value;
        if (combine(l, s, id, &value))
            publish(l, &parts[PART_COMBINED], PART_COMBINED, id, value);
    }
    if (s->live)
        row_put_u64(&parts[PART_COMBINED], process_processes_count, s->live);
    row_put_u64(&parts[PART_COMBINED], process_processes_started_count, l->started);
    fold_main(l, members, &parts[PART_MAIN]);
    if (!l->own_only)
        fold_descendants(l, s, &parts[PART_COMBINED], &parts[PART_MAIN], last,
                         &parts[PART_DESCENDANTS]);
}
