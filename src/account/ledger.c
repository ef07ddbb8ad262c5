/* SPDX-License-Identifier: MIT */
#include "account/ledger.h"

#include <math.h>
#include <string.h>

void ledger_init(struct ledger *l, uint64_t bit, bool own_only)
{
    *l = (struct ledger){.bit = bit, .own_only = own_only, .is_changed = true};
    for (unsigned fold = 0; fold < FOLD_NONE; fold++)
        l->folds[fold] = metric_fold_mask(fold);
    struct row *rows[] = {&l->reaped, &l->lost,     &l->departed, &l->main_left, &l->main_base,
                          &l->base,   &l->own_left, &l->foreign,  &l->own_base};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        row_init(rows[i], ENTITY_PROCESS);
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&l->held[part], ENTITY_PROCESS);
}

static void take_larger(struct row *most, const struct row *r, uint64_t mask)
{
    FOR_EACH_BIT(id, mask & r->present)
    row_put_u64(most, id, max_u64(row_u64(most, id), r->values[id].u));
}

static bool is_main(const struct ledger *l, const struct member *m)
{
    return m->main_of & l->bit;
}

/* The kernel keeps what a process used itself apart from what it inherited. */
static const uint64_t kept_apart = BIT(process_cpu_seconds) | BIT(process_cpu_user_seconds) |
                                   BIT(process_cpu_system_seconds) |
                                   BIT(process_faults_minor_count) |
                                   BIT(process_faults_major_count);

/* All that goes to whoever reaps it. */
static void add_conserved(const struct ledger *l, struct row *sum, const struct process *p)
{
    row_add(sum, &p->own, l->folds[FOLD_CONSERVED]);
    if (!l->own_only)
        inherited_add(sum, &p->inherited);
}

void ledger_join(struct ledger *l, const struct member *m, bool from_birth)
{
    const struct process *p = &m->process;
    l->is_changed = true;
    l->started += !(m->been & l->bit);
    if (is_main(l, m))
        l->main = p->entity.pid;
    if (from_birth)
        return;
    add_conserved(l, &l->base, p);
    row_add(&l->own_base, &p->own, kept_apart);
    row_add(&l->base, &p->own, l->folds[FOLD_KEPT]);
    if (is_main(l, m))
        l->main_base = p->own;
}

void ledger_rebase(struct ledger *l, const struct member *m, const struct process *before)
{
    struct row now, then;
    l->is_changed = true;
    row_init(&now, ENTITY_PROCESS);
    row_init(&then, ENTITY_PROCESS);
    add_conserved(l, &now, &m->process);
    add_conserved(l, &then, before);
    FOR_EACH_BIT(id, now.present)
    row_put_u64(&l->base, id,
                row_u64(&l->base, id) + left_u64(row_u64(&now, id), row_u64(&then, id)));
    FOR_EACH_BIT(id, kept_apart & m->process.own.present)
    row_put_u64(&l->own_base, id,
                row_u64(&l->own_base, id) +
                    left_u64(row_u64(&m->process.own, id), row_u64(&before->own, id)));
    if (is_main(l, m))
        l->main_base = m->process.own;
}

uint64_t ledger_unknown_base(const struct ledger *l, const struct process *p)
{
    return p->denied & (l->folds[FOLD_CONSERVED] | l->folds[FOLD_KEPT]);
}

void ledger_leave_out(struct ledger *l, const struct member *m, uint64_t metrics)
{
    l->is_changed = true;
    l->left_out |= metrics;
    l->left_out_next |= metrics;
    l->unknown_left |= metrics;
    /* What it used itself is no proof against the base (ledger_combine). */
    FOR_EACH_BIT(id, m->gone ? 0 : metrics & kept_apart & m->process.own.present)
    row_put_u64(&l->own_base, id, row_u64(&l->own_base, id) + row_u64(&m->process.own, id));
    FOR_EACH_BIT(id, is_main(l, m) && !m->gone ? metrics & m->process.own.present : 0)
    row_put_u64(&l->main_base, id, row_u64(&m->process.own, id));
}

void ledger_leave_out_growth(struct ledger *l, enum metric_id id, uint64_t growth)
{
    l->is_changed = true;
    l->unknown_left |= BIT(id);
    row_put_u64(&l->base, id, row_u64(&l->base, id) + growth);
}

void ledger_part(struct ledger *l, const struct member *m)
{
    uint64_t hidden = m->process.denied;
    l->is_changed = true;
    l->unknown_left |= hidden &
                       (l->folds[FOLD_CONSERVED] | l->folds[FOLD_KEPT] | l->folds[FOLD_MAX]);
    add_conserved(l, &l->lost, &m->process);
    row_add(&l->own_left, &m->process.own, l->folds[FOLD_CONSERVED]);
    row_add(&l->departed, &m->process.own, l->folds[FOLD_KEPT]);
    take_larger(&l->departed, &m->process.own, l->folds[FOLD_MAX]);
}

void ledger_foreign(struct ledger *l, const struct member *child)
{
    l->is_changed = true;
    add_conserved(l, &l->foreign, &child->process);
}

void ledger_leave(struct ledger *l, const struct member *m, bool lost)
{
    const struct process *p = &m->process;
    l->is_changed = true;
    row_add(&l->own_left, &p->own, l->folds[FOLD_CONSERVED]);
    row_add(&l->departed, &p->own, l->folds[FOLD_KEPT]);
    take_larger(&l->departed, &p->own, l->folds[FOLD_MAX]);
    l->ignoring |= p->ignores_sigchld;
    l->unknown_left |= p->denied & (l->folds[FOLD_KEPT] | l->folds[FOLD_MAX] |
                                    (lost ? l->folds[FOLD_CONSERVED] : 0));
    if (lost) {
        add_conserved(l, &l->lost, p);
        l->losing |= !p->has_ended; /* as a zombie it was read to the end */
    }
    if (is_main(l, m)) {
        l->main_left = p->own;
        l->main_has_left = true;
        l->main_denied = p->denied;
        l->main_fresh = p->has_ended ? p->fresh : 0;
    }
}

void ledger_put_reaped(struct ledger *l, const struct row *reaped)
{
    l->is_changed = true;
    l->reaped.present &= BIT(process_memory_peak_bytes);
    FOR_EACH_BIT(id, reaped->present)
    row_put_u64(&l->reaped, id, row_u64(reaped, id));
}

void ledger_raise_reaped_peak(struct ledger *l, uint64_t bytes)
{
    l->is_changed = true;
    row_hold_u64(&l->reaped, process_memory_peak_bytes, bytes);
}

void ledger_note_loss(struct ledger *l)
{
    l->losing = true;
}

void ledger_put_recorded(struct ledger *l, uint64_t started)
{
    l->is_changed = true;
    l->recorded = started;
}

/* ---- Summing up ------------------------------------------------------------------------------ */

static void ledger_add_member(struct ledger *l, const struct member *m)
{
    struct ledger_sums *s = &l->sums;
    const struct process *p = &m->process;
    bool zombie = p->has_ended;
    bool elsewhere = m->memory_elsewhere & l->bit;
    struct row copy;
    const struct row *own = member_adds(m, elsewhere, &copy);
    s->live += !zombie;
    s->live_others += !zombie && !is_main(l, m);
    s->memories += !zombie && !elsewhere;
    s->memories_others += !zombie && !elsewhere && !is_main(l, m);
    uint64_t denied = member_hides(m);
    if (elsewhere)
        denied &= ~PROCESS_MEMORY_BITS;
    s->denied[PART_COMBINED] |= denied;
    s->denied[is_main(l, m) ? PART_MAIN : PART_DESCENDANTS] |= denied;
    l->ignoring |= p->ignores_sigchld;
    if (!zombie) {
        uint64_t unread = ~(own->present | p->denied);
        s->unread |= unread;
        s->unread_others |= is_main(l, m) ? 0 : unread;
    }
    row_add(&s->all, own, l->folds[FOLD_SUM] | l->folds[FOLD_CONSERVED] | l->folds[FOLD_KEPT]);
    take_larger(&s->all, own, l->folds[FOLD_MAX] | l->folds[FOLD_ONCE]);
    if (!l->own_only)
        inherited_add(&s->all, &p->inherited);
    if (l->own_base.present)
        row_add(&s->own, &p->own, kept_apart);
    if (!is_main(l, m)) {
        row_add(&s->others, own, l->folds[FOLD_SUM]);
        take_larger(&s->others, own, l->folds[FOLD_MAX] | l->folds[FOLD_ONCE]);
    }
}

/* What is private to the processes, added up, and what is shared, once: no less than the largest
 * share of one of them, nor than what PSS says they have of it. Page tables are read seldom: all
 * together is no less than the largest process is now. */
static uint64_t count_once(const struct row *sums, enum metric_id id)
{
    uint64_t private = row_u64(sums, process_memory_uss_bytes);
    uint64_t shared = max_u64(row_u64(sums, process_memory_distinct_shared_bytes),
                              left_u64(row_u64(sums, process_memory_pss_bytes), private));
    if (id == process_memory_distinct_shared_bytes)
        return shared;
    return max_u64(private + shared, row_u64(sums, process_memory_distinct_bytes));
}

/* Of one process that is its RSS; of several the page tables must have been read. */
static bool is_known_once(const struct row *sums, uint64_t unread, uint64_t memories,
                          enum metric_id id)
{
    enum metric_id needed = id == process_memory_distinct_bytes && memories > 1
                                ? process_memory_uss_bytes
                                : id;
    return row_has(sums, id) && row_has(sums, needed) && !((unread >> id | unread >> needed) & 1);
}

/* What the target has of one metric, in words of the fold (see the head of ledger.h). */
static bool ledger_combine(const struct ledger *l, const struct ledger_sums *s, enum metric_id id,
                           uint64_t *ret)
{
    bool alive = row_has(&s->all, id);
    uint64_t value = row_u64(&s->all, id);
    switch (metric_of(id)->fold) {
    case FOLD_CONSERVED:
        if (l->own_only)
            value += row_u64(&l->own_left, id);
        else
            value += row_u64(&l->reaped, id) + row_u64(&l->lost, id);
        *ret = left_u64(value, row_u64(&l->foreign, id) + row_u64(&l->base, id));
        /* A base is rounded up, for each member: what they were seen to use themselves may be more.
         * Neither can be too much. */
        if (row_has(&l->own_base, id))
            *ret = max_u64(*ret, left_u64(row_u64(&s->own, id) + row_u64(&l->own_left, id),
                                          row_u64(&l->own_base, id)));
        return alive || row_has(l->own_only ? &l->own_left : &l->reaped, id) ||
               (!l->own_only && row_has(&l->lost, id));
    case FOLD_KEPT:
        value += max_u64(l->own_only ? 0 : row_u64(&l->reaped, id), row_u64(&l->departed, id));
        *ret = left_u64(value, row_u64(&l->base, id));
        return alive || row_has(&l->departed, id) || (!l->own_only && row_has(&l->reaped, id));
    case FOLD_MAX:
        value = max_u64(value, row_u64(&l->departed, id));
        *ret = max_u64(value, l->own_only ? 0 : row_u64(&l->reaped, id));
        return alive || row_has(&l->departed, id) || (!l->own_only && row_has(&l->reaped, id));
    case FOLD_SUM: *ret = value; return s->live && alive && !(s->unread >> id & 1);
    case FOLD_ONCE:
        *ret = s->memories > 1 ? count_once(&s->all, id) : value;
        return s->live && is_known_once(&s->all, s->unread, s->memories, id);
    case FOLD_WHOLE:
    case FOLD_RATE:
    case FOLD_NONE: break;
    }
    return false;
}

/* A counter that was published never falls. */
static void ledger_publish(struct ledger *l, struct row *out, enum part part, enum metric_id id,
                           uint64_t value)
{
    bool is_counter = metric_of(id)->kind == METRIC_COUNTER;
    row_put_u64(out, id, is_counter ? row_hold_u64(&l->held[part], id, value) : value);
}

uint64_t ledger_user_share(uint64_t cpu, uint64_t user, uint64_t system, uint64_t least_user,
                           uint64_t least_system)
{
    uint64_t both = user + system;
    uint64_t share = both == cpu ? user
                     : both      ? (uint64_t)((double)cpu * ((double)user / (double)both))
                                 : cpu / 2;
    share = max_u64(share, least_user);
    return min_u64(share, left_u64(cpu, least_system));
}

static const uint64_t kinds_of_cpu = BIT(process_cpu_user_seconds) |
                                     BIT(process_cpu_system_seconds);

/* While a target runs from its start, what is known of user and system time is whole ticks, which
 * are never too many: they stand as they are, because what is exact at the end must not be less. */
static bool divides_cpu(const struct ledger *l, bool last)
{
    return last || l->own_base.present;
}

/* Puts user and system time of a part that has CPU time; whole: the part has no more than this,
 * NULL for the whole itself. */
static void publish_kinds(struct ledger *l, struct row *out, enum part part, uint64_t user,
                          uint64_t system, const struct row *whole)
{
    uint64_t cpu = row_u64(out, process_cpu_seconds);
    uint64_t least_user = row_u64(&l->held[part], process_cpu_user_seconds);
    uint64_t least_system = row_u64(&l->held[part], process_cpu_system_seconds);
    /* How newer CPU time divides is not known: a guess could be too much of one, for good. */
    if (l->kinds_are_old && (l->held[part].present & kinds_of_cpu) == kinds_of_cpu) {
        row_put_u64(out, process_cpu_user_seconds, least_user);
        row_put_u64(out, process_cpu_system_seconds, least_system);
        return;
    }
    if (whole) {
        least_user = max_u64(least_user, left_u64(cpu, row_u64(whole, process_cpu_system_seconds)));
        least_system = max_u64(least_system,
                               left_u64(cpu, row_u64(whole, process_cpu_user_seconds)));
    }
    uint64_t share = ledger_user_share(cpu, user, system, least_user, least_system);
    ledger_publish(l, out, part, process_cpu_user_seconds, share);
    ledger_publish(l, out, part, process_cpu_system_seconds, cpu - share);
}

/* What the main process had before it was tracked; of what grows only. */
static uint64_t main_base(const struct ledger *l, enum metric_id id)
{
    return metric_of(id)->kind == METRIC_COUNTER ? row_u64(&l->main_base, id) : 0;
}

/* The main process as it is, or its counters as it ended. */
static void fold_main(struct ledger *l, const struct members *members, const struct row *combined,
                      bool last, struct row *out)
{
    const struct member *m = members_find(members, l->main);
    const struct process *p = m && m->was_seen && is_main(l, m) ? &m->process : NULL;
    const struct row *own = p ? &p->own : &l->main_left;
    uint64_t divided = BIT(process_cpu_seconds) | kinds_of_cpu;
    if (!divides_cpu(l, last) || (own->present & combined->present & divided) != divided)
        divided = 0;
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        enum metric_fold fold = metric_of(id)->fold;
        bool ended_gauge = !p && (fold == FOLD_SUM || fold == FOLD_ONCE);
        if (row_has(own, id) && fold < FOLD_WHOLE && !ended_gauge &&
            !(divided & kinds_of_cpu & BIT(id)))
            ledger_publish(l, out, PART_MAIN, id, left_u64(row_u64(own, id), main_base(l, id)));
    }
    if (divided)
        publish_kinds(l, out, PART_MAIN,
                      left_u64(row_u64(own, process_cpu_user_seconds),
                               main_base(l, process_cpu_user_seconds)),
                      left_u64(row_u64(own, process_cpu_system_seconds),
                               main_base(l, process_cpu_system_seconds)),
                      combined);
    if (p)
        row_put_u64(out, process_processes_count, !p->has_ended);
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
                    ledger_publish(l, out, PART_DESCENDANTS, id, rest);
            }
            break;
        case FOLD_SUM:
            if (s->live_others ? row_has(&s->others, id) && !(s->unread_others >> id & 1)
                               : row_has(combined, id))
                row_put_u64(out, id, row_u64(&s->others, id));
            break;
        case FOLD_ONCE:
            if (s->live_others ? is_known_once(&s->others, s->unread_others, s->memories_others, id)
                               : row_has(combined, id))
                row_put_u64(out, id,
                            s->memories_others > 1 ? count_once(&s->others, id)
                                                   : row_u64(&s->others, id));
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
}

static void put_started(const struct ledger *l, struct row parts[PARTS])
{
    uint64_t started = max_u64(l->started, l->recorded);
    if (l->has_proof)
        started = max_u64(started, 2);
    row_put_u64(&parts[PART_COMBINED], process_processes_started_count, started);
    if (l->main)
        row_put_u64(&parts[PART_MAIN], process_processes_started_count, 1);
    if (l->main && !l->own_only)
        row_put_u64(&parts[PART_DESCENDANTS], process_processes_started_count,
                    left_u64(started, 1));
}

static void fold_combined(struct ledger *l, bool last, struct row *out)
{
    const struct ledger_sums *s = &l->sums;
    struct row kinds;
    row_init(&kinds, ENTITY_PROCESS);
    bool divided = divides_cpu(l, last);
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        uint64_t value;
        if (!ledger_combine(l, s, id, &value))
            continue;
        uint64_t before = row_u64(&l->held[PART_COMBINED], id);
        if ((l->left_out >> id & 1) && value > before) {
            row_put_u64(&l->base, id, row_u64(&l->base, id) + value - before);
            value = before;
        }
        if (divided && (kinds_of_cpu & BIT(id)))
            row_put_u64(&kinds, id, value);
        else
            ledger_publish(l, out, PART_COMBINED, id, value);
    }
    if (kinds.present == kinds_of_cpu && row_has(out, process_cpu_seconds))
        publish_kinds(l, out, PART_COMBINED, row_u64(&kinds, process_cpu_user_seconds),
                      row_u64(&kinds, process_cpu_system_seconds), NULL);
    else
        FOR_EACH_BIT(id, kinds.present)
    ledger_publish(l, out, PART_COMBINED, id, row_u64(&kinds, id));
    if (s->live)
        row_put_u64(out, process_processes_count, s->live);
}

static void ledger_sum_up(struct ledger *l, const struct members *members)
{
    l->sums = (struct ledger_sums){0};
    row_init(&l->sums.all, ENTITY_PROCESS);
    row_init(&l->sums.others, ENTITY_PROCESS);
    row_init(&l->sums.own, ENTITY_PROCESS);
    for (size_t i = 0; i < members->count; i++)
        if ((members->order[i]->targets & l->bit) && members->order[i]->was_seen &&
            !members->order[i]->gone)
            ledger_add_member(l, members->order[i]);
}

/* What permissions hide of the parts. Memory that is counted once lacks a process whose page tables
 * may not be read, where it is that of several. The descendants have what the main process has not,
 * where the kernel mixes the two. */
static void find_denied(struct ledger *l)
{
    const struct ledger_sums *s = &l->sums;
    uint64_t counters = l->folds[FOLD_CONSERVED] | l->folds[FOLD_KEPT];
    uint64_t once = BIT(process_memory_distinct_bytes);
    l->denied[PART_COMBINED] = s->denied[PART_COMBINED] | l->unknown_left;
    l->denied[PART_MAIN] = s->denied[PART_MAIN] | (l->main_denied & counters);
    l->denied[PART_DESCENDANTS] = s->denied[PART_DESCENDANTS] | l->unknown_left |
                                  ((l->denied[PART_COMBINED] | l->denied[PART_MAIN]) & counters);
    if (s->memories > 1 && (s->denied[PART_COMBINED] & PROCESS_ROLLUP_BITS))
        l->denied[PART_COMBINED] |= once;
    if (s->memories_others > 1 && (s->denied[PART_DESCENDANTS] & PROCESS_ROLLUP_BITS))
        l->denied[PART_DESCENDANTS] |= once;
}

void ledger_fold(struct ledger *l, const struct members *members, bool changed, bool last,
                 struct row parts[PARTS])
{
    const struct ledger_sums *s = &l->sums;
    bool is_same = !changed && !last && !l->is_changed && l->folded_kinds_old == l->kinds_are_old;
    if (is_same) {
        memcpy(parts, l->folded, sizeof l->folded);
        return;
    }
    l->is_changed = last; /* what the end publishes may fall */
    l->folded_kinds_old = l->kinds_are_old;
    if (changed)
        ledger_sum_up(l, members);
    find_denied(l);
    l->is_changed |= l->left_out != 0;
    for (unsigned part = 0; part < PARTS; part++)
        row_init(&parts[part], ENTITY_PROCESS);
    fold_combined(l, last, &parts[PART_COMBINED]);
    if (l->main)
        fold_main(l, members, &parts[PART_COMBINED], last, &parts[PART_MAIN]);
    if (l->main && !l->own_only) {
        fold_descendants(l, s, &parts[PART_COMBINED], &parts[PART_MAIN], last,
                         &parts[PART_DESCENDANTS]);
        /* No process lives without a page fault, so faults that are not of the main process are of
         * a descendant, seen or not. That is known as long as all faults of the main process are.
         */
        bool knows_main = !l->main_has_left || (l->main_fresh & BIT(process_faults_minor_count));
        l->has_proof |= knows_main &&
                        row_u64(&parts[PART_DESCENDANTS], process_faults_minor_count) > 0;
    }
    put_started(l, parts);
    /* Gauges are known of all parts or of none: a peak or a mean of the main process that has seen
     * more moments than that of the whole could be above it. */
    uint64_t gauges = l->folds[FOLD_SUM] | l->folds[FOLD_ONCE];
    for (unsigned part = PART_MAIN; s->live && part < PARTS; part++)
        parts[part].present &= parts[PART_COMBINED].present | ~gauges;
    memcpy(l->folded, parts, sizeof l->folded);
    l->left_out = l->left_out_next;
    l->left_out_next = 0;
}

void ledger_replace(struct ledger *l, const struct row *better, bool has_ticks,
                    struct row *combined)
{
    uint64_t divided = kinds_of_cpu | BIT(process_cpu_seconds);
    FOR_EACH_BIT(id, better->present)
    row_put_u64(combined, id, row_u64(better, id));
    if (!has_ticks || (better->present & divided) != divided)
        return;
    uint64_t cpu = row_u64(better, process_cpu_seconds);
    l->replaced_user_ns = ledger_user_share(cpu, row_u64(better, process_cpu_user_seconds),
                                            row_u64(better, process_cpu_system_seconds),
                                            l->replaced_user_ns, l->replaced_system_ns);
    l->replaced_system_ns = cpu - l->replaced_user_ns;
    row_put_u64(combined, process_cpu_user_seconds, l->replaced_user_ns);
    row_put_u64(combined, process_cpu_system_seconds, l->replaced_system_ns);
}

void ledger_raise_cpu(struct ledger *l, uint64_t cpu, uint64_t user, uint64_t system, bool last,
                      struct row *parts)
{
    struct row *combined = &parts[PART_COMBINED], *main = &parts[PART_MAIN];
    uint64_t known_user = row_u64(combined, process_cpu_user_seconds);
    uint64_t known_system = row_u64(combined, process_cpu_system_seconds);
    cpu = max_u64(cpu, row_u64(combined, process_cpu_seconds));
    if (!user && !system) {
        user = known_user;
        system = known_system;
    }
    /* At the end no part may have more than the whole; before, neither kind falls. */
    uint64_t share = ledger_user_share(cpu, user, system, last ? known_user : l->replaced_user_ns,
                                       last ? known_system : l->replaced_system_ns);
    if (!last) {
        l->replaced_user_ns = share;
        l->replaced_system_ns = cpu - share;
    }
    row_put_u64(combined, process_cpu_seconds, cpu);
    row_put_u64(combined, process_cpu_user_seconds, share);
    row_put_u64(combined, process_cpu_system_seconds, cpu - share);
    FOR_EACH_BIT(id, l->own_only ? 0 : (kinds_of_cpu | BIT(process_cpu_seconds)) & main->present)
    {
        uint64_t rest = left_u64(row_u64(combined, id), row_u64(main, id));
        row_put_u64(&parts[PART_DESCENDANTS], id,
                    last ? rest : row_hold_u64(&l->held[PART_DESCENDANTS], id, rest));
    }
}

void ledger_put_main(struct ledger *l, const struct row *end)
{
    l->is_changed = true;
    FOR_EACH_BIT(id, end->present)
    row_hold_u64(&l->main_left, id, row_u64(end, id));
    l->main_fresh |= end->present;
}

void ledger_raise(struct ledger *l, const struct row *counted, bool last, struct row *parts)
{
    struct row *combined = &parts[PART_COMBINED], *main = &parts[PART_MAIN];
    FOR_EACH_BIT(id, counted->present)
    {
        uint64_t value = max_u64(row_u64(counted, id), row_u64(combined, id));
        row_put_u64(combined, id, value);
        if (l->own_only || !row_has(main, id) || metric_of(id)->kind != METRIC_COUNTER)
            continue;
        uint64_t rest = left_u64(value, row_u64(main, id));
        row_put_u64(&parts[PART_DESCENDANTS], id,
                    last ? rest : row_hold_u64(&l->held[PART_DESCENDANTS], id, rest));
    }
}

void ledger_hold(const struct ledger *l, struct row parts[PARTS])
{
    const struct row *held = &l->held[PART_DESCENDANTS];
    struct row *row = &parts[PART_DESCENDANTS];
    FOR_EACH_BIT(id, held->present & row_seen(row))
    row->values[id].u = max_u64(row->values[id].u, row_u64(held, id));
    row = &parts[PART_COMBINED];
    FOR_EACH_BIT(id, l->is_divided_again ? kinds_of_cpu & row_seen(row) : 0)
    row->values[id].u = max_u64(row->values[id].u, row_u64(&l->held[PART_COMBINED], id));
    FOR_EACH_BIT(id, kinds_of_cpu & row_seen(row))
    row->values[id].u = max_u64(row->values[id].u, id == process_cpu_user_seconds
                                                       ? l->replaced_user_ns
                                                       : l->replaced_system_ns);
}

void ledger_add_up(struct ledger *whole, const struct row *const targets[], size_t count,
                   struct row *combined)
{
    uint64_t handed_on = whole->folds[FOLD_CONSERVED] | whole->folds[FOLD_KEPT];
    uint64_t known = ~UINT64_C(0); /* what every target knows, the union knows too */
    for (size_t i = 0; i < count; i++)
        known &= targets[i]->present;
    FOR_EACH_BIT(id, handed_on & (combined->present | known))
    {
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += row_u64(targets[i], id);
        if ((known & kinds_of_cpu) == kinds_of_cpu && (kinds_of_cpu & BIT(id))) {
            row_put_u64(&whole->held[PART_COMBINED], id, sum); /* its own books divide otherwise */
            row_put_u64(combined, id, sum);
        } else {
            ledger_publish(whole, combined, PART_COMBINED, id, sum);
        }
    }
}

/* Each target divides its CPU time by itself: one may have more of a kind than the union, though
 * less of both together. */
static void divide_union(struct ledger *whole, const struct row *const targets[], size_t count,
                         struct row *combined)
{
    uint64_t needed = kinds_of_cpu | BIT(process_cpu_seconds);
    uint64_t least_user = 0, least_system = 0;
    if ((combined->present & needed) != needed)
        return;
    for (size_t i = 0; i < count; i++) {
        least_user = max_u64(least_user, row_u64(targets[i], process_cpu_user_seconds));
        least_system = max_u64(least_system, row_u64(targets[i], process_cpu_system_seconds));
    }
    uint64_t cpu = row_u64(combined, process_cpu_seconds);
    uint64_t user = ledger_user_share(cpu, row_u64(combined, process_cpu_user_seconds),
                                      row_u64(combined, process_cpu_system_seconds), least_user,
                                      least_system);
    row_put_u64(combined, process_cpu_user_seconds, user);
    row_put_u64(combined, process_cpu_system_seconds, cpu - user);
    whole->is_divided_again = true;
}

void ledger_at_least(struct ledger *whole, const struct row *const targets[], size_t count,
                     bool last, struct row *combined)
{
    for (size_t i = 0; i < count; i++)
        FOR_EACH_BIT(id, whole->folds[FOLD_CONSERVED] & targets[i]->present)
        {
            bool is_kind = kinds_of_cpu & BIT(id);
            if (row_has(combined, id) &&
                (is_kind || row_u64(combined, id) >= row_u64(targets[i], id)))
                continue;
            ledger_publish(whole, combined, PART_COMBINED, id, row_u64(targets[i], id));
            whole->losing = true;
        }
    if (last)
        divide_union(whole, targets, count, combined);
}

/* ==== Rates =================================================================================== */

/* ==== Settle ================================================================================== */

void settle_base(struct instance *m)
{
    FOR_EACH_BIT(i, m->read.present)
    {
        enum metric_id id = m->read.first + i;
        if (metric_of(id)->kind == METRIC_COUNTER && !row_has(&m->base, id))
            row_put_u64(&m->base, id, m->is_new ? 0 : row_u64(&m->read, id));
    }
}

void settle(struct instance *m, bool since_start, uint64_t now_ns)
{
    m->row = m->read;
    settle_base(m);
    FOR_EACH_BIT(i, m->read.present)
    {
        enum metric_id id = m->read.first + i;
        if (metric_of(id)->kind != METRIC_COUNTER || since_start)
            continue;
        row_put_u64(&m->row, id, left_u64(row_u64(&m->read, id), row_u64(&m->base, id)));
    }
    rates_put(m->rates, &m->row, m->entity.kind, now_ns, 0);
}

/* ==== Rates =================================================================================== */

/* The kernel counts the time of CPUs in hundredths of a second: over less than two of them a busy
 * machine may seem to be idle. */
#define LEAST_OF_CPUS_NS (20 * NS_PER_MS)

void rates_begin(struct rate rates[RATES_PER_ENTITY], uint64_t now_ns)
{
    for (unsigned i = 0; i < RATES_PER_ENTITY; i++)
        rates[i] = (struct rate){.at_ns = now_ns, .known = true};
}

static double most_of(const struct row *row, enum metric_id id, double most_cores)
{
    if (metric_of(id)->unit == UNIT_ratio)
        return 1;
    if (id == system_cpu_cores && row_has(row, system_cpus_online_count))
        return (double)row_u64(row, system_cpus_online_count);
    return id == process_cpu_cores && most_cores > 0 ? most_cores : INFINITY;
}

static void rate_update(struct rate *rate, struct row *row, enum metric_id id, uint64_t now_ns,
                        double most_cores)
{
    bool is_of_ticks = id == system_cpu_cores || id == core_busy_ratio;
    if (!row_has(row, id - 1))
        return;
    if (is_of_ticks && rate->known && left_u64(now_ns, rate->at_ns) < LEAST_OF_CPUS_NS)
        return; /* too early, and not lost: the next rate is over all of the time */
    uint64_t value = row_u64(row, id - 1);
    uint64_t grown = left_u64(value, rate->value);
    if (rate->known && now_ns > rate->at_ns) {
        double seconds = (double)(now_ns - rate->at_ns) / 1e9;
        double per_second = metric_number(metric_of(id - 1), (union value){.u = grown}) / seconds;
        /* The kernel counts in ticks: over a short time there may seem to be more than all. What is
         * too much now belongs to the time around it: the next ones have it. */
        double most = most_of(row, id, most_cores);
        if (per_second > most) {
            value = rate->value + (uint64_t)((double)grown * (most / per_second));
            per_second = most;
        }
        row_put_double(row, id, per_second);
    }
    *rate = (struct rate){.value = value, .at_ns = now_ns, .known = true};
}

/* All rates, in the order of the table; few entities have one. */
#define IF_RATE(id) id,
#define IF_SUM(id)
#define IF_MAX(id)
#define IF_ONCE(id)
#define IF_CONSERVED(id)
#define IF_KEPT(id)
#define IF_WHOLE(id)
#define IF_NONE(id)
static const unsigned short rate_ids[] = {
#define METRIC(entity, stem, kind, unit, fold, ...) IF_##fold(entity##_##stem##_##unit)
#include "metric/metrics.def"
    METRIC_COUNT,
};

void rates_put(struct rate rates[RATES_PER_ENTITY], struct row *row, enum entity_kind kind,
               uint64_t now_ns, double most_cores)
{
    enum metric_id end = row->first + metric_count(kind);
    const unsigned short *id = rate_ids;
    while (*id < row->first)
        id++;
    for (unsigned slot = 0; *id < end && slot < RATES_PER_ENTITY; slot++, id++)
        rate_update(&rates[slot], row, *id, now_ns, most_cores);
}
