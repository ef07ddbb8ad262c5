/* SPDX-License-Identifier: MIT */
#include "engine/tick.h"

#include "account/ledger.h"
#include "engine/step.h"
#include "engine/target/gpus.h"
#include "engine/target/targets.h"
#include "engine/target/threads.h"
#include "engine/target/walk.h"
#include "engine/tracker.h"

/* ==== Machine ================================================================================= */

/* A little less than a second: a sample a second has everything each time. */
#define MACHINE_REFRESH_NS (950 * NS_PER_MS)
#define MACHINE_SLOW_NS    (9500 * NS_PER_MS)

static void machine_note(void *tracked, const char *sentence)
{
    tracked_note(tracked, "%s", sentence);
}

void machine_open(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    const struct target *whole = t->tracked.whole;
    instance_init(&m->system, ENTITY_SYSTEM);
    bool is_asked = t->run.system || t->energy.is_asked; /* what was not asked for may be missing */
    m->context = (struct collect_context){
        .root = &t->tracked.root,
        .selection = &t->selection,
        .net_pid = whole && !whole->is_launched ? whole->ledger.main : 0,
        .system = &m->system,
        .note = is_asked ? machine_note : NULL,
        .note_arg = &t->tracked,
        .own_child = membership_add_stranger,
    };
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        const struct collector *c = collectors[i];
        /* The energy of a run with GPUs has the processors' too. */
        bool has_gpus = t->gpus.choice.kind != GPUS_NONE && !t->replay;
        bool has_energy = (has_gpus || t->energy.is_asked) && c == &collector_rapl;
        bool is_selected = c->gives_of_system & t->selection.of[ENTITY_SYSTEM];
        for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
            is_selected |= kind != ENTITY_SYSTEM && (c->gives >> kind & 1) && t->selection.of[kind];
        is_selected |= t->energy.is_asked && c == &collector_rapl;
        m->is_open[i] = (t->run.system || has_energy) && is_selected &&
                        c->open(&m->states[i], &m->context) == 0;
    }
}

void machine_close(struct machine *m)
{
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        if (m->is_open[i])
            collectors[i]->close(m->states[i]);
        m->is_open[i] = false;
    }
    instance_list_done(&m->list);
}

/* Reads what is due of the machine, the cgroups and the GPUs, and puts it into the frame. */
static void machine_tick(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    uint64_t now_ns = t->frame.mono_ns;
    bool has_rapl = false;
    m->list.count = 0;
    row_init(&m->system.read, ENTITY_SYSTEM);
    if (t->run.system)
        instance_list_add(&m->list, &m->system);
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        const struct collector *c = collectors[i];
        bool is_due = now_ns >= m->next_ns[i] || t->frame.last ||
                      (c == &collector_rapl && energy_is_due(&t->energy, &t->frame));
        if (!m->is_open[i] || !is_due)
            continue;
        has_rapl |= c == &collector_rapl;
        m->next_ns[i] = now_ns + (c->cost == COST_CHEAP     ? 0
                                  : c->cost == COST_REFRESH ? MACHINE_REFRESH_NS
                                                            : MACHINE_SLOW_NS);
        c->collect(m->states[i], &m->context, &m->list);
    }
    cgroups_tick(&t->cgroups, &t->frame, &m->list);
    job_cgroup_tick(&t->job, &t->tracked, &t->frame);
    gpus_tick(&t->gpus, &t->tracked, &t->frame, &t->run, &m->list, &m->system.read);
    threads_tick(&t->threads, &t->tracked, &t->frame, &m->list);
    energy_tick(&t->energy, &t->tracked, &t->gpus, &t->frame, &m->list, has_rapl);
    for (size_t i = 0; i < m->list.count; i++) {
        struct instance *instance = m->list.items[i];
        enum entity_kind kind = instance->entity.kind;
        if (!instance->number)
            instance->number = ++m->numbered;
        /* Counters of energy began with a driver, or wrap around: what they had before is not the
         * run's. */
        settle(instance, t->options.since_start && kind != ENTITY_GPU && kind != ENTITY_RAPL,
               now_ns);
    }
    t->frame.machine = m->list.items;
    t->frame.machine_count = m->list.count;
}

/* ==== Slow reads ============================================================================== */

#define SLOW_START_NS            (100 * NS_PER_MS)
#define SLOW_SHORTEST_SPACING_NS (100 * NS_PER_MS)
#define SLOW_USUAL_SPACING_NS    NS_PER_SECOND
#define SLOW_SHORTEST_SLICE_NS   (5 * NS_PER_MS)
#define SLOW_AUTO_SLICE_NS       (25 * NS_PER_MS)

/* With a fixed interval only: at the pace of `auto` a young job would spend its time on being read.
 */
static bool slow_is_for_each_sample(const struct slow_reads *slow, const struct tracked *t)
{
    return t->options->memory == TOLL_MEMORY_PSS ||
           (slow->is_in_rows && t->options->interval_ns && !t->is_recorded &&
            t->options->memory == TOLL_MEMORY_AUTO);
}

/* These reads have what samples leave of the budget. Never more than half, since they hold a lock
 * that the job needs, nor less than an eighth, so that samples which were asked for at a short
 * interval do not end them. What the start costs does not count. */
static void slow_take_share(struct slow_reads *slow, const struct tracked *t, uint64_t now_ns,
                            uint64_t own_cpu_ns)
{
    double budget = t->budget;
    uint64_t age_ns = left_u64(now_ns, t->start_ns);
    uint64_t samples_ns = left_u64(own_cpu_ns, slow->spent_ns);
    if (age_ns < SLOW_START_NS || t->scripted) {
        slow->start_cpu_ns = samples_ns;
        slow->share = budget * BUDGET_SLOW_MOST;
        return;
    }
    double used = (double)left_u64(samples_ns, slow->start_cpu_ns) / (double)age_ns;
    double rest = budget - used;
    double least = budget * BUDGET_SLOW_LEAST, most = budget * BUDGET_SLOW_MOST;
    slow->share = rest > most ? most : rest < least ? least : rest;
}

/* The time that must pass for such a cost. */
static uint64_t slow_paid_by_ns(const struct slow_reads *slow, uint64_t cost_ns)
{
    return (uint64_t)((double)cost_ns / slow->share);
}

/* About what a round costs: what the last one did, for as many processes and as much memory as
 * there are now; before the first one 15 µs for each and 5 ms per gigabyte. */
static uint64_t slow_expected_ns(const struct slow_reads *slow, const struct tracked *t,
                                 uint64_t rss)
{
    if (!slow->round_ns || !slow->round_members)
        return t->members.count * 15 * NS_PER_US + rss / 200;
    double members = (double)t->members.count / (double)slow->round_members;
    double memory = slow->rss_bytes ? (double)rss / (double)slow->rss_bytes : 1;
    return (uint64_t)((double)slow->round_ns * (members > memory ? members : memory));
}

/* All rounds of the run together keep to the budget, the one to come included; and after an
 * expensive one its price is waited for, however long nothing was read before. */
static bool slow_may_begin(const struct slow_reads *slow, const struct tracked *t, uint64_t now_ns)
{
    if (slow_is_for_each_sample(slow, t))
        return now_ns >= slow->next_ns;
    uint64_t rss = row_u64(&t->whole->parts[PART_COMBINED], process_memory_rss_bytes);
    uint64_t expected_ns = slow_expected_ns(slow, t, rss);
    if (now_ns - t->start_ns < slow_paid_by_ns(slow, slow->spent_ns + expected_ns))
        return false;
    if (!slow->pass || now_ns >= slow->next_ns)
        return true;
    /* A job that grows fast would be over before the budget allows another look: half the wait is
     * enough when its memory has doubled. */
    return rss > 2 * slow->rss_bytes &&
           now_ns - slow->began_ns >= (slow->next_ns - slow->began_ns) / 2;
}

/* Reads the next members until the slice is used up, one at least; a single look has no later tick
 * to go on in, and reads all. True when none is left. */
static bool slow_go_on(struct slow_reads *slow, struct tracked *t)
{
    /* Long enough to see most jobs at one moment: shared pages that are counted while they change
     * hands do not add up. */
    uint64_t fixed = t->is_recorded ? 0 : t->options->interval_ns;
    uint64_t slice = fixed ? max_u64(fixed / 4, SLOW_SHORTEST_SLICE_NS) : SLOW_AUTO_SLICE_NS;
    uint64_t began_ns = clock_mono(t->scripted);
    bool has_read = false;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        bool is_read = m->slow_pass == slow->pass && m->slow_execs == m->process.execs;
        bool counts = m->targets & ~m->memory_elsewhere;
        if (is_read || !m->was_seen || !counts || m->process.has_ended)
            continue;
        if (has_read && !t->is_probe && clock_mono(t->scripted) - began_ns > slice)
            return false;
        has_read = true;
        m->slow_pass = slow->pass;
        m->slow_execs = m->process.execs;
        t->members_changed = true;
        if (process_visit_slow(&t->reader, source_of(m), &m->process) == -ENOENT) {
            slow->unavailable = true;
            return true;
        }
    }
    return true;
}

/* True when all members have figures of now: a round was completed in this tick, or none has run
 * since the last one. */
static bool slow_tick(struct slow_reads *slow, struct tracked *t, uint64_t now_ns,
                      const struct self_cost *self)
{
    slow->tick_cpu_ns = 0;
    if (slow->unavailable || t->options->memory == TOLL_MEMORY_RSS ||
        !(t->reader.wanted & PROCESS_ROLLUP_BITS))
        return false;
    if (!slow->in_pass && slow->pass && !t->has_run)
        return true; /* the figures of the last round hold, and weigh as time passes */
    slow_take_share(slow, t, now_ns, left_u64(self->cpu_ns, self->beside_cpu_ns));
    if (!slow->in_pass) {
        if (!slow_may_begin(slow, t, now_ns))
            return false;
        slow->in_pass = true;
        slow->began_ns = now_ns;
        t->has_run = false;
        slow->pass++;
        slow->cost_ns = 0;
        slow->round_members = t->members.count;
    }
    uint64_t cpu_before = t->scripted ? 0 : self->cpu();
    bool complete = slow_go_on(slow, t);
    slow->tick_cpu_ns = t->scripted ? 0 : self->cpu() - cpu_before;
    slow->cost_ns += slow->tick_cpu_ns;
    slow->spent_ns += slow->tick_cpu_ns;
    if (slow->unavailable) {
        tracked_note(t, "this kernel has no smaps_rollup (expected Linux 4.14 or later); PSS and "
                        "USS are unknown");
        return false;
    }
    if (!complete)
        return false;
    slow->in_pass = false;
    slow->round_ns = slow->cost_ns;
    slow->next_ns = now_ns;
    if (!slow_is_for_each_sample(slow, t)) { /* cheap rounds come often only while it is young */
        uint64_t usual = min_u64((now_ns - t->start_ns) / 8, SLOW_USUAL_SPACING_NS);
        uint64_t affordable = slow_paid_by_ns(slow, slow->cost_ns);
        slow->next_ns += max_u64(max_u64(usual, affordable), SLOW_SHORTEST_SPACING_NS);
    }
    return true;
}

/* The parts were summed up after a round: remembers how much memory it has seen. */
static void slow_remember(struct slow_reads *slow, struct tracked *t)
{
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        for (unsigned part = 0; part < PARTS; part++)
            if (row_seen(&g->parts[part]) & PROCESS_ROLLUP_BITS)
                g->most_slow_rss[part] = max_u64(
                    g->most_slow_rss[part], row_u64(&g->parts[part], process_memory_rss_bytes));
    }
    slow->rss_bytes = row_u64(&t->whole->parts[PART_COMBINED], process_memory_rss_bytes);
}

/* ==== Tick ==================================================================================== */

enum { TOP_PROCESSES = 20 };

#define ROWS_EVERY_NS   NS_PER_SECOND
#define REFRESH_SELF_NS (10 * NS_PER_SECOND)

#define LEAST_AT_THE_END_NS (250 * NS_PER_MS)
#define LEAST_AT_A_MARK_NS  (10 * NS_PER_MS)

static void tick_stamp(struct toll_tracker *t, enum tick_kind kind)
{
    struct frame *f = &t->frame;
    const struct tracked *tracked = &t->tracked;
    const struct reaper *r = &tracked->reaper;
    uint64_t now_ns = clock_mono(tracked->scripted);
    /* The run ends with the command, or with the last process, not when toll has noticed. */
    if (kind == TICK_LAST && !is_launched(tracked))
        now_ns = targets_end(tracked, now_ns);
    else if (kind == TICK_LAST && r->main_reaped && t->options.wait != TOLL_WAIT_ALL &&
             !t->timeout.term_sent)
        now_ns = r->main_end_ns;
    else if (kind == TICK_LAST && r->no_children_left && r->last_end_ns)
        now_ns = r->last_end_ns;
    uint64_t before = f->mono_ns ? f->mono_ns : tracked->start_ns;
    f->mono_ns = now_ns;
    f->real_ns = clock_real(tracked->scripted);
    f->elapsed_ns = left_u64(now_ns, tracked->start_ns);
    f->interval_ns = left_u64(now_ns, before);
    f->last = kind == TICK_LAST;
    f->between = kind == TICK_BETWEEN;
}

/* ---- Folding --------------------------------------------------------------------------------- */

/* The whole of a target or of the union, from the best source of each figure. */
static void fold_combined(struct toll_tracker *t, struct target *g)
{
    struct tracked *tracked = &t->tracked;
    struct row *combined = &g->parts[PART_COMBINED];
    bool last = t->frame.last;
    if (g->is_union) {
        /* Targets without a common member make the union as their sum; else it has its own. */
        const struct row *rows[TARGETS_AT_MOST];
        for (size_t i = 0; i < tracked->target_count; i++)
            rows[i] = &tracked->targets[i].parts[PART_COMBINED];
        if (tracked->discovery.overlap)
            ledger_at_least(&g->ledger, rows, tracked->target_count, last, combined);
        else
            ledger_add_up(&g->ledger, rows, tracked->target_count, combined);
    }
    if (!g->in.instance && !t->options.network)
        return;
    struct row better;
    row_init(&better, ENTITY_PROCESS);
    bool has_ticks = cgroups_count(g, &better);
    network_count(&t->network, tracked, g, &better);
    ledger_replace(&g->ledger, &better, has_ticks, combined);
}

/* The parts of a target: sums, then rates; figures that are read rarely only when they are new. */
static void fold_target(struct toll_tracker *t, struct target *g, bool slow_is_fresh,
                        struct frame_row rows[PARTS])
{
    struct tracked *tracked = &t->tracked;
    const struct frame *f = &t->frame;
    struct ledger *l = &g->ledger;
    l->kinds_are_old = f->is_brief;
    ledger_fold(l, &tracked->members, tracked->members_changed, f->last, g->parts);
    if (!t->replay && tracked->root.pids < 0) {
        /* No process can be looked at: what was reaped is known at the end, and nothing before. A
         * sum over no processes is not a figure of the target. */
        g->parts[PART_COMBINED].present &= f->last ? l->reaped.present : 0;
        g->parts[PART_MAIN].present = g->parts[PART_DESCENDANTS].present = 0;
    }
    fold_combined(t, g);
    job_cgroup_count(&t->job, g, f->last);
    process_ends_count(&t->ends, g);
    gpus_put(&t->gpus, tracked, f, g);
    energy_count(&t->energy, tracked, &t->gpus, f, g, &g->parts[PART_COMBINED]);
    for (unsigned part = 0; part < PARTS; part++) {
        struct row *row = &g->parts[part];
        row_put_u64(row, process_wall_seconds, f->elapsed_ns);
        if (!slow_is_fresh)
            row->present &= ~PROCESS_ROLLUP_BITS;
        /* A sum that leaves out a process which could not be read is a lower bound. What the cgroup
         * of the target counted lacks none. Before the rates: those are then over all of the time
         * that was not known. */
        row_bound(row, l->denied[part] & ~(part == PART_COMBINED ? g->in.bits : 0));
        rates_put(g->rates[part], row, ENTITY_PROCESS, f->mono_ns,
                  f->last ? 0 : quality_most_cores(&t->run));
        target_summary_of(&t->summary, tracked, g)->denied[part] |= l->denied[part];
        if (part == PART_COMBINED || target_has_parts(tracked, g))
            rows[part] = (struct frame_row){&g->entities[part], row};
    }
}

static void tick_fold(struct toll_tracker *t, bool slow_is_fresh)
{
    struct frame *f = &t->frame;
    struct tracked *tracked = &t->tracked;
    for (size_t i = 0; i < book_count(tracked); i++) {
        struct target *g = &tracked->targets[i];
        fold_target(t, g, slow_is_fresh,
                    g == tracked->whole ? f->target : tracked->frame_targets[i].parts);
    }
    tracked->members_changed = false;
    if (slow_is_fresh)
        slow_remember(&t->slow, tracked);
    f->targets = tracked->frame_targets;
    f->target_count = tracked->frame_targets ? tracked->target_count : 0;
    /* Lines that show it as unknown have the reason beside them. What toll has launched is counted
     * when it is reaped, so that only the end shows whether something is missing. */
    bool is_denied = tracked->whole->ledger.denied[PART_COMBINED] & tracked->reader.wanted &
                     BIT(process_storage_read_bytes);
    if (is_denied && !is_launched(tracked) && !tracked->io_denial_noted) {
        bool is_wider = tracked->reader.wanted & BIT(process_memory_pss_bytes);
        tracked_note(tracked, "cannot read %s of a process of another user (root can)",
                     is_wider ? "I/O, PSS, USS and open files" : "the I/O");
        tracked->io_denial_noted = true;
    }
}

/* ---- Rows of single processes ---------------------------------------------------------------- */

static uint64_t rss_of(const struct member *m)
{
    return row_u64(&m->process.own, process_memory_rss_bytes);
}

/* The members with most memory, in falling order; there are few of them. */
static size_t tick_pick_largest(const struct members *members, struct member *top[TOP_PROCESSES])
{
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        struct member *m = members->order[i];
        if (count == TOP_PROCESSES && rss_of(top[count - 1]) >= rss_of(m))
            continue;
        size_t at = count < TOP_PROCESSES ? count++ : TOP_PROCESSES - 1;
        for (; at && rss_of(top[at - 1]) < rss_of(m); at--)
            top[at] = top[at - 1];
        top[at] = m;
    }
    return count;
}

static void tick_add_processes(struct toll_tracker *t)
{
    struct frame *f = &t->frame;
    struct members *members = &t->tracked.members;
    bool all = t->options.processes == TOLL_PROCESSES_ALL;
    if (t->options.processes == TOLL_PROCESSES_NONE || !members->count ||
        (!all && t->rows_at_ns && f->mono_ns - t->rows_at_ns < ROWS_EVERY_NS))
        return;
    t->rows_at_ns = f->mono_ns;
    struct member *top[TOP_PROCESSES];
    size_t count = all ? members->count : tick_pick_largest(members, top);
    struct member **picked = all ? members->order : top;
    f->processes = arena_take(&f->arena, count * sizeof *f->processes);
    for (size_t i = 0; f->processes && i < count; i++) {
        struct member *m = picked[i];
        if (!m->was_seen || !m->targets)
            continue;
        membership_put_wall(&t->tracked, m, f->elapsed_ns);
        m->process.entity.targets = m->targets;
        rates_put(m->rates, &m->process.own, ENTITY_PROCESS, f->mono_ns,
                  quality_most_cores(&t->run));
        struct row copy;
        const struct row *row = process_shown(&m->process, &copy);
        if (row == &copy) {
            struct row *kept = arena_take(&f->arena, sizeof *kept);
            if (!kept)
                continue;
            *kept = copy;
            row = kept;
        }
        f->processes[f->process_count++] = (struct frame_row){&m->process.entity, row};
    }
}

/* ---- The cost of it -------------------------------------------------------------------------- */

static void tick_measure_self(struct toll_tracker *t)
{
    struct self_cost *self = &t->self;
    struct row *row = &self->row;
    uint64_t now_ns = t->frame.mono_ns;
    bool refresh = t->frame.last || !self->refreshed_ns ||
                   now_ns - self->refreshed_ns >= REFRESH_SELF_NS;
    row_init(row, ENTITY_SELF);
    /* In a program that measures itself the memory is the program's. */
    bool is_alone = !t->background.is_on && !t->tracked.is_probe;
    uint64_t beside_ns = t->background.is_on ? own_threads_cpu_ns(t) : 0;
    beside_ns += gpus_helper_cpu_ns(&t->gpus);
    self_collect(&t->tracked.root, left_u64(self->cpu(), self->cpu_base_ns) + beside_ns, row,
                 refresh && is_alone);
    if (refresh)
        self->refreshed_ns = now_ns;
    row_put_u64(row, self_ticks_count, t->frame.tick + 1);
    row_put_u64(row, self_ticks_missed_count, t->schedule.missed);
    if (self->tick_cost_ns)
        row_put_u64(row, self_tick_seconds, self->tick_cost_ns);
    if (!t->frame.last)
        row_put_u64(row, self_lateness_seconds, self->lateness_ns);
    t->frame.self = (struct frame_row){&self->entity, row};
}

/* ---- Publishing ------------------------------------------------------------------------------ */

/* The rows of a target as samples have them. A rate over a short time shows how the kernel counts
 * rather than what the job does: times come in ticks, and at the end with what had not come to
 * light before. And in the summary the parts add up, while in samples no counter falls. */
static void tick_show_target(struct target *g, bool is_too_short, bool last,
                             const struct frame_row folded[PARTS], struct frame_row ret[PARTS])
{
    for (unsigned part = 0; part < PARTS; part++) {
        g->shown[part] = g->parts[part];
        if (is_too_short)
            row_unknown(&g->shown[part], process_cpu_cores);
        ret[part] = (struct frame_row){folded[part].entity,
                                       folded[part].row ? &g->shown[part] : NULL};
    }
    if (last)
        ledger_hold(&g->ledger, g->shown);
}

/* The frame for outputs: the one that was built, or a copy of it that differs in these rows. */
static const struct frame *tick_show(struct frame *f, struct tracked *t, struct frame *copy)
{
    uint64_t least_ns = f->last ? LEAST_AT_THE_END_NS : f->between ? LEAST_AT_A_MARK_NS : 0;
    bool is_too_short = f->interval_ns < least_ns;
    if (!f->last && !is_too_short)
        return f;
    *copy = *f;
    struct frame_target *shown = t->frame_targets ? t->frame_targets + t->target_count : NULL;
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        if (g == t->whole) {
            tick_show_target(g, is_too_short, f->last, f->target, copy->target);
            continue;
        }
        shown[i] = f->targets[i];
        tick_show_target(g, is_too_short, f->last, f->targets[i].parts, shown[i].parts);
    }
    copy->targets = shown;
    return copy;
}

/* For the program's other threads. */
static void tick_hand_over(struct toll_tracker *t, const struct frame *f)
{
    struct frame_copy *copy = frame_copy_new(f, &t->selection);
    if (!copy) {
        frame_queue_lose(&t->background.frames);
        return;
    }
    copy->head.missed = t->schedule.missed;
    frame_queue_put(&t->background.frames, copy);
}

const struct frame *tick(struct toll_tracker *t, enum tick_kind kind)
{
    struct frame *f = &t->frame;
    struct tracked *tracked = &t->tracked;

    frame_begin(f);
    tick_stamp(t, kind);
    tracked->is_last = f->last;
    /* All processes together, so that what is added up is of one moment. Phases count from the
     * sample at their start. */
    tracked->may_be_brief = kind == TICK_DUE && !tracked->is_probe && !t->replay &&
                            f->mono_ns - t->worked_ns < walk_work_holds_ns(tracked) &&
                            !t->marks.phases.count && !t->marks.looks_cost_ns;
    if (!tracked->may_be_brief)
        t->worked_ns = f->mono_ns;
    if (!t->replay && !tracked->is_probe) {
        schedule_note_gap(&t->schedule, f->mono_ns, f->interval_ns);
        if (f->last)
            schedule_end(&t->schedule, f->mono_ns);
    }
    process_ends_before_walk(&t->ends, tracked);
    if (tracked->whole)
        walk(tracked, f->mono_ns); /* first, so that CPU times are of the time that was stamped */
    f->is_brief = tracked->may_be_brief && tracked->is_behind;
    tracked->may_be_brief = false;
    machine_tick(t);
    if (f->last)
        process_ends_finish(&t->ends, tracked, &t->job);
    else
        process_ends_after_walk(&t->ends, tracked, t->job.has_outside);
    if (tracked->whole) {
        network_tick(&t->network, tracked, f, t->job.has_outside);
        gpus_members(&t->gpus, tracked);
        tick_fold(t, slow_tick(&t->slow, tracked, f->mono_ns, &t->self));
        marks_look(&t->marks);
    }
    tick_add_processes(t);
    tick_measure_self(t);
    summary_frame(&t->summary, f);

    const struct frame *shown = tick_show(f, tracked, &t->shown);
    summary_curves(&t->summary, shown);
    outputs_send_events(&t->outputs, &tracked->events);
    outputs_frame(&t->outputs, shown);
    backup_write(t);
    if (t->background.is_on)
        tick_hand_over(t, shown);
    f->tick++;
    t->self.tick_cost_ns = left_u64(clock_mono(tracked->scripted), f->mono_ns);
    return shown;
}
