/* SPDX-License-Identifier: MIT */
#include "engine/tick.h"

#include "engine/finish.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/target/cgroups.h"
#include "engine/target/gpus.h"
#include "engine/target/membership.h"
#include "engine/target/network.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tracker.h"
#include "source/collector.h"

/* ==== Machine ================================================================================= */

/* A little less than a second: a sample a second has everything each time. */
#define REFRESH_NS (950 * NS_PER_MS)
#define SLOW_NS    (9500 * NS_PER_MS)

static void machine_note(void *tracker, const char *sentence)
{
    outputs_note(tracker, "%s", sentence);
}

/* Whether anybody asked for what it gives. The energy of a run with GPUs has the processors' too.
 */
static bool is_wanted(const struct toll_tracker *t, const struct collector *c)
{
    bool has_energy = t->gpus.choice.kind != GPUS_NONE && !t->replay && c == &collector_rapl;
    if (!t->run.system && !has_energy)
        return false;
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_SYSTEM && (c->gives >> kind & 1) && t->selection.of[kind])
            return true;
    return c->gives_of_system & t->selection.of[ENTITY_SYSTEM];
}

void machine_open(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    instance_init(&m->system, ENTITY_SYSTEM);
    m->context = (struct collect_context){
        .root = &t->root,
        .selection = &t->selection,
        .net_pid = t->whole && !is_launched(t) ? t->whole->ledger.main : 0,
        .system = &m->system,
        .note = machine_note,
        .note_arg = t,
        .own_child = membership_add_stranger,
    };
    if (!t->run.system)
        m->context.note = NULL; /* what nobody asked for may be missing */
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++)
        m->is_open[i] = is_wanted(t, collectors[i]) &&
                        collectors[i]->open(&m->states[i], &m->context) == 0;
}

void machine_close(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        if (m->is_open[i])
            collectors[i]->close(m->states[i]);
        m->is_open[i] = false;
    }
    instance_list_done(&m->list);
}

static uint64_t machine_pace(enum metric_cost cost)
{
    return cost == COST_CHEAP ? 0 : cost == COST_REFRESH ? REFRESH_NS : SLOW_NS;
}

static void machine_collect(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    uint64_t now_ns = t->frame.mono_ns;
    if (t->run.system)
        instance_list_add(&m->list, &m->system);
    for (unsigned i = 0; i < COLLECTORS_AT_MOST && collectors[i]; i++) {
        if (!m->is_open[i] || (now_ns < m->next_ns[i] && !t->frame.last))
            continue;
        m->next_ns[i] = now_ns + machine_pace(collectors[i]->cost);
        collectors[i]->collect(m->states[i], &m->context, &m->list);
    }
}

/* Counters of energy began with a driver, or wrap around: what they had before is not the run's. */
static bool counts_from_start(const struct toll_tracker *t, const struct instance *m)
{
    return t->options.since_start && m->entity.kind != ENTITY_GPU && m->entity.kind != ENTITY_RAPL;
}

void machine_tick(struct toll_tracker *t)
{
    struct machine *m = &t->machine;
    m->list.count = 0;
    row_init(&m->system.read, ENTITY_SYSTEM);
    machine_collect(t);
    cgroups_tick(t);
    gpus_tick(t);
    for (size_t i = 0; i < m->list.count; i++) {
        struct instance *instance = m->list.items[i];
        if (!instance->number)
            instance->number = ++m->numbered;
        settle(instance, counts_from_start(t, instance), t->frame.mono_ns);
    }
    t->frame.machine = m->list.items;
    t->frame.machine_count = m->list.count;
}

/* ==== Slow ==================================================================================== */

/* Reads that are dear: smaps_rollup walks page tables, milliseconds per gigabyte, and holds a lock
 * that the job needs for mapping memory. A round over all members is made when it fits the budget;
 * the next comes no sooner than the budget allows after its real cost. A long round goes on over
 * several ticks. */

#define SHORTEST_SPACING_NS (100 * NS_PER_MS)
#define USUAL_SPACING_NS    NS_PER_SECOND
#define SHORTEST_SLICE_NS   (5 * NS_PER_MS)
#define AUTO_SLICE_NS       (25 * NS_PER_MS)

/* At the pace of `auto` a young job would spend its time on being read. */
static bool is_read_always(const struct toll_tracker *t)
{
    return t->options.memory == TOLL_MEMORY_PSS ||
           (t->slow.is_in_rows && t->schedule.fixed_ns && t->options.memory == TOLL_MEMORY_AUTO);
}

/* What a round will about cost, from the memory there is to walk. */
static uint64_t guess_cost(const struct toll_tracker *t)
{
    uint64_t rss = row_u64(&t->whole->parts[PART_COMBINED], process_memory_rss_bytes);
    return t->members.count * 15 * NS_PER_US + rss / 200; /* 5 ms per gigabyte */
}

/* Time that must pass for so much cost. Half the budget: these reads hold a lock that the job
 * needs. */
static uint64_t paid_by(const struct toll_tracker *t, uint64_t cost_ns)
{
    return (uint64_t)((double)cost_ns * 200 / t->options.budget_percent);
}

/* Cheap rounds come often only while the run is young. */
static uint64_t spacing_after(const struct toll_tracker *t, uint64_t cost_ns, uint64_t now_ns)
{
    if (is_read_always(t))
        return 0;
    uint64_t usual = min_u64((now_ns - t->start_ns) / 8, USUAL_SPACING_NS);
    uint64_t affordable = paid_by(t, cost_ns);
    return max_u64(max_u64(usual, affordable), SHORTEST_SPACING_NS);
}

/* A job that grows fast would be over before the budget allows another look: half the wait will do
 * when its memory has doubled. */
static bool has_doubled(const struct toll_tracker *t, uint64_t now_ns)
{
    uint64_t rss = row_u64(&t->whole->parts[PART_COMBINED], process_memory_rss_bytes);
    uint64_t half = (t->slow.next_ns - t->slow.began_ns) / 2;
    return rss > 2 * t->slow.rss_bytes && now_ns - t->slow.began_ns >= half;
}

/* All rounds of the run together keep to the budget, the one to come included; and after a dear one
 * its price is waited for, however long nothing was read before. */
static bool may_begin(const struct toll_tracker *t, uint64_t now_ns)
{
    const struct slow_reads *slow = &t->slow;
    if (is_read_always(t))
        return now_ns >= slow->next_ns;
    if (now_ns - t->start_ns < paid_by(t, slow->spent_ns + guess_cost(t)))
        return false;
    return !slow->pass || now_ns >= slow->next_ns || has_doubled(t, now_ns);
}

/* The next members until the slice is used up, one at least; a single look has no later tick to go
 * on in, and reads all. True when none is left. */
static bool slow_go_on(struct toll_tracker *t, uint64_t began_ns)
{
    /* Long enough to see most jobs at one moment: shared pages that are counted while they change
     * hands do not add up. */
    uint64_t fixed = t->schedule.fixed_ns;
    uint64_t slice = fixed ? max_u64(fixed / 4, SHORTEST_SLICE_NS) : AUTO_SLICE_NS;
    bool has_read = false;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        bool is_read = m->slow_pass == t->slow.pass && m->slow_execs == m->process.execs;
        bool counts = m->targets & ~m->memory_elsewhere;
        if (is_read || !m->was_seen || !counts || m->process.has_ended)
            continue;
        if (has_read && !t->is_probe && clock_mono(t->scripted) - began_ns > slice)
            return false;
        has_read = true;
        m->slow_pass = t->slow.pass;
        m->slow_execs = m->process.execs;
        t->members_changed = true;
        if (process_visit_slow(&t->reader, source_of(m), &m->process) == -ENOENT) {
            t->slow.unavailable = true;
            return true;
        }
    }
    return true;
}

/* True when all members have figures of now: a round was completed in this tick, or nobody has run
 * since the last one. */
static bool slow_tick(struct toll_tracker *t, uint64_t now_ns)
{
    struct slow_reads *slow = &t->slow;
    slow->tick_cpu_ns = 0;
    if (slow->unavailable || t->options.memory == TOLL_MEMORY_RSS ||
        !(t->reader.wanted & PROCESS_ROLLUP_BITS))
        return false;
    if (!slow->in_pass) {
        if (slow->pass && !slow->outdated)
            return true; /* nobody ran: the figures of the last round hold, and weigh as time passes
                          */
        if (!may_begin(t, now_ns))
            return false;
        slow->in_pass = true;
        slow->began_ns = now_ns;
        slow->outdated = false;
        slow->pass++;
        slow->cost_ns = 0;
    }
    uint64_t began = clock_mono(t->scripted);
    uint64_t cpu_before = t->scripted ? 0 : t->own_cpu();
    bool complete = slow_go_on(t, began);
    slow->tick_cpu_ns = t->scripted ? 0 : t->own_cpu() - cpu_before;
    slow->cost_ns += slow->tick_cpu_ns;
    slow->spent_ns += slow->tick_cpu_ns;
    if (slow->unavailable) {
        outputs_note(t, "this kernel has no smaps_rollup (Linux 4.14 and later): PSS and USS are "
                        "unknown");
        return false;
    }
    if (!complete)
        return false;
    slow->in_pass = false;
    slow->next_ns = now_ns + spacing_after(t, slow->cost_ns, now_ns);
    return true;
}

/* The parts are summed up after a round: remember how much memory it has seen. */
static void slow_remember(struct toll_tracker *t)
{
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        for (unsigned part = 0; part < PARTS; part++)
            if (row_seen(&g->parts[part]) & PROCESS_ROLLUP_BITS)
                g->most_slow_rss[part] = max_u64(
                    g->most_slow_rss[part], row_u64(&g->parts[part], process_memory_rss_bytes));
    }
    t->slow.rss_bytes = row_u64(&t->whole->parts[PART_COMBINED], process_memory_rss_bytes);
}

/* ==== Tick ==================================================================================== */

enum { TOP_PROCESSES = 20 };

#define ROWS_EVERY_NS   NS_PER_SECOND
#define REFRESH_SELF_NS (10 * NS_PER_SECOND)

#define LEAST_AT_THE_END_NS (250 * NS_PER_MS)
#define LEAST_AT_A_MARK_NS  (10 * NS_PER_MS)

/* The run ends with the command, or with the last process, not when toll has noticed. */
static uint64_t end_of_run(const struct toll_tracker *t, uint64_t now_ns)
{
    const struct reaper *r = &t->reaper;
    if (!is_launched(t))
        return targets_end(t, now_ns);
    bool to_the_last = t->options.wait == TOLL_WAIT_ALL || t->timeout.term_sent;
    if (!to_the_last && r->main_reaped)
        return r->main_end_ns;
    return r->no_children_left && r->last_end_ns ? r->last_end_ns : now_ns;
}

static void tick_stamp(struct toll_tracker *t, struct frame *f, bool last)
{
    uint64_t now_ns = clock_mono(t->scripted);
    if (last)
        now_ns = end_of_run(t, now_ns);
    uint64_t before = f->mono_ns ? f->mono_ns : t->start_ns;
    f->mono_ns = now_ns;
    f->real_ns = clock_real(t->scripted);
    f->elapsed_ns = left_u64(now_ns, t->start_ns);
    f->interval_ns = left_u64(now_ns, before);
    f->last = last;
}

/* The union of targets that have nobody in common is their sum; otherwise it has its own books. */
static void tick_unite(struct toll_tracker *t)
{
    const struct row *rows[TARGETS_AT_MOST];
    for (size_t i = 0; i < t->target_count; i++)
        rows[i] = &t->targets[i].parts[PART_COMBINED];
    struct row *combined = &t->whole->parts[PART_COMBINED];
    if (t->discovery.overlap)
        ledger_at_least(&t->whole->ledger, rows, t->target_count, t->frame.last, combined);
    else
        ledger_add_up(&t->whole->ledger, rows, t->target_count, combined);
}

/* Where no process can be looked at, nothing is known of a target before the end, and then what
 * was reaped. No sum over no processes is taken for what it has. */
static void hide_unseen(const struct toll_tracker *t, struct target *g)
{
    if (t->replay || t->root.pids >= 0)
        return;
    g->parts[PART_COMBINED].present &= t->frame.last ? g->ledger.reaped.present : 0;
    g->parts[PART_MAIN].present = g->parts[PART_DESCENDANTS].present = 0;
}

/* A sum that leaves out a process which could not be read is no figure of the part, but a lower
 * bound of it. What the cgroup of the target counted lacks none. */
static void part_bounds(const struct target *g, enum part part, struct row *row)
{
    uint64_t bounds = g->ledger.denied[part];
    if (part == PART_COMBINED)
        bounds &= ~g->cgroup_bits;
    row_bound(row, bounds);
}

/* The parts of a target: sums, then rates; figures that are read rarely only when they are new. */
static void fold_target(struct toll_tracker *t, struct target *g, bool slow_is_fresh,
                        struct frame_row rows[PARTS])
{
    ledger_fold(&g->ledger, &t->members, t->members_changed, t->frame.last, g->parts);
    hide_unseen(t, g);
    if (g->is_union)
        tick_unite(t);
    cgroups_put(g);
    network_put(t, g);
    gpus_put(t, g);
    for (unsigned part = 0; part < PARTS; part++) {
        struct row *row = &g->parts[part];
        row_put_u64(row, process_wall_seconds, t->frame.elapsed_ns);
        if (!slow_is_fresh)
            row->present &= ~PROCESS_ROLLUP_BITS;
        if (g->ledger.denied[part]) /* first: a rate is over all of the time that was not known */
            part_bounds(g, part, row);
        rates_put(g->rates[part], row, ENTITY_PROCESS, t->frame.mono_ns,
                  t->frame.last ? 0 : quality_most_cores(t));
        target_summary_of(t, g)->denied[part] |= g->ledger.denied[part];
        if (part == PART_COMBINED || target_has_parts(t, g))
            rows[part] = (struct frame_row){&g->entities[part], row};
    }
}

static void tick_fold(struct toll_tracker *t, bool slow_is_fresh)
{
    struct frame *f = &t->frame;
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        fold_target(t, g, slow_is_fresh, g == t->whole ? f->target : t->frame_targets[i].parts);
    }
    t->members_changed = false;
    if (slow_is_fresh)
        slow_remember(t);
    f->targets = t->frame_targets;
    f->target_count = t->frame_targets ? t->target_count : 0;
}

/* ---- Rows of single processes ---------------------------------------------------------------- */

static uint64_t rss_of(const struct member *m)
{
    return row_u64(&m->process.own, process_memory_rss_bytes);
}

/* Keeps the largest in falling order; there are few of them. */
static size_t insert_largest(struct member **top, size_t count, struct member *m)
{
    if (count == TOP_PROCESSES && rss_of(top[count - 1]) >= rss_of(m))
        return count;
    size_t at = count < TOP_PROCESSES ? count : TOP_PROCESSES - 1;
    for (; at && rss_of(top[at - 1]) < rss_of(m); at--)
        top[at] = top[at - 1];
    top[at] = m;
    return count < TOP_PROCESSES ? count + 1 : count;
}

static void publish_member(struct toll_tracker *t, struct member *m)
{
    struct frame *f = &t->frame;
    membership_put_wall(t, m, f->elapsed_ns);
    m->process.entity.targets = m->targets;
    rates_put(m->rates, &m->process.own, ENTITY_PROCESS, f->mono_ns, quality_most_cores(t));
    struct row copy;
    const struct row *row = process_shown(&m->process, &copy);
    if (row == &copy) {
        struct row *kept = arena_take(&f->arena, sizeof *kept);
        if (!kept)
            return;
        *kept = copy;
        row = kept;
    }
    f->processes[f->process_count++] = (struct frame_row){&m->process.entity, row};
}

static void pick_processes(struct toll_tracker *t)
{
    struct frame *f = &t->frame;
    bool all = t->options.processes == TOLL_PROCESSES_ALL;
    if (t->options.processes == TOLL_PROCESSES_NONE || !t->members.count ||
        (!all && t->rows_at_ns && f->mono_ns - t->rows_at_ns < ROWS_EVERY_NS))
        return;
    t->rows_at_ns = f->mono_ns;
    struct member *top[TOP_PROCESSES];
    size_t count = 0;
    for (size_t i = 0; !all && i < t->members.count; i++)
        count = insert_largest(top, count, t->members.order[i]);
    struct member **picked = all ? t->members.order : top;
    count = all ? t->members.count : count;
    f->processes = arena_take(&f->arena, count * sizeof *f->processes);
    for (size_t i = 0; f->processes && i < count; i++)
        if (picked[i]->was_seen && picked[i]->targets)
            publish_member(t, picked[i]);
}

/* ---- Rates of the moment --------------------------------------------------------------------- */

/* In the summary the parts add up, in samples no counter falls. */
static void hold_counters(struct toll_tracker *t)
{
    for (size_t i = 0; t->frame.last && i < book_count(t); i++)
        ledger_hold(&t->targets[i].ledger, t->targets[i].parts);
}

/* A rate over a short time tells how the kernel counts rather than what the job does: times come in
 * ticks, and at the end with what had not come to light before. The summary has it all; a sample
 * leaves out what it cannot know. */
static bool is_too_short(const struct frame *f)
{
    return f->interval_ns < (f->last ? LEAST_AT_THE_END_NS : f->between ? LEAST_AT_A_MARK_NS : 0);
}

static void hide_rates(struct toll_tracker *t)
{
    if (!is_too_short(&t->frame))
        return;
    for (size_t i = 0; i < book_count(t); i++)
        for (unsigned part = 0; part < PARTS; part++)
            row_unknown(&t->targets[i].parts[part], process_cpu_cores);
}

/* ---- The cost of it -------------------------------------------------------------------------- */

static void measure_self(struct toll_tracker *t)
{
    struct row *row = &t->self_row;
    uint64_t now_ns = t->frame.mono_ns;
    bool refresh = t->frame.last || !t->refreshed_ns || now_ns - t->refreshed_ns >= REFRESH_SELF_NS;
    row_init(row, ENTITY_SELF);
    bool is_alone = !t->background.is_on && !t->is_probe; /* else the memory is the program's */
    uint64_t beside_ns = t->background.is_on ? own_threads_cpu_ns(t) : 0;
    beside_ns += gpus_helper_cpu_ns(t);
    self_collect(&t->root, left_u64(t->own_cpu(), t->cpu_base_ns) + beside_ns, row,
                 refresh && is_alone);
    if (refresh)
        t->refreshed_ns = now_ns;
    row_put_u64(row, self_ticks_count, t->frame.tick + 1);
    row_put_u64(row, self_ticks_missed_count, t->schedule.missed);
    if (t->tick_cost_ns)
        row_put_u64(row, self_tick_seconds, t->tick_cost_ns);
    if (!t->frame.last)
        row_put_u64(row, self_lateness_seconds, t->lateness_ns);
    t->frame.self = (struct frame_row){&t->self_entity, row};
}

/* For the program's other threads. */
static void tick_publish(struct toll_tracker *t)
{
    struct frame_copy *frame = frame_copy_new(&t->frame, &t->selection);
    if (!frame) {
        frame_queue_lose(&t->background.frames);
        return;
    }
    frame->head.missed = t->schedule.missed;
    frame_queue_put(&t->background.frames, frame);
}

void tick(struct toll_tracker *t, bool last)
{
    struct frame *f = &t->frame;
    frame_begin(f);
    tick_stamp(t, f, last);
    if (!t->replay && !t->is_probe)
        schedule_note_gap(&t->schedule, f->mono_ns, f->interval_ns);
    if (t->whole)
        walk(t, f->mono_ns); /* first, so that CPU times are of the time that was stamped */
    machine_tick(t);
    if (t->whole) {
        network_tick(t);
        gpus_members(t);
        tick_fold(t, slow_tick(t, f->mono_ns));
        mark_intake_look(t);
    }
    pick_processes(t);
    measure_self(t);
    summary_frame(&t->summary, f);
    hide_rates(t);
    hold_counters(t);
    outputs_frame(t);
    if (t->background.is_on)
        tick_publish(t);
    f->tick++;
    t->tick_cost_ns = left_u64(clock_mono(t->scripted), f->mono_ns);
}
