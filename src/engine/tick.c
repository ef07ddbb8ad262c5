/* SPDX-License-Identifier: MIT */
#include "engine/tick.h"

#include "engine/gpus.h"
#include "engine/machine.h"
#include "engine/mark_intake.h"
#include "engine/membership.h"
#include "engine/network.h"
#include "engine/outputs.h"
#include "engine/own_threads.h"
#include "engine/slow.h"
#include "engine/surroundings.h"
#include "engine/targets.h"
#include "engine/verdicts.h"
#include "engine/walk.h"

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
    bool to_the_last = t->options.wait == TOLL_WAIT_ALL || t->timeout.told;
    if (!to_the_last && r->main_reaped)
        return r->main_end_ns;
    return r->no_children_left && r->last_end_ns ? r->last_end_ns : now_ns;
}

static void stamp(struct toll_tracker *t, struct frame *f, bool last)
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
static void unite(struct toll_tracker *t)
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
        unite(t);
    surroundings_put(g);
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
                  t->frame.last ? 0 : verdicts_most_cores(t));
        target_summary_of(t, g)->denied[part] |= g->ledger.denied[part];
        if (part == PART_COMBINED || target_has_parts(t, g))
            rows[part] = (struct frame_row){&g->entities[part], row};
    }
}

static void fold(struct toll_tracker *t, bool slow_is_fresh)
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
    rates_put(m->rates, &m->process.own, ENTITY_PROCESS, f->mono_ns, verdicts_most_cores(t));
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
static void publish(struct toll_tracker *t)
{
    struct taken *frame = taken_copy(&t->frame, &t->selection);
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
    stamp(t, f, last);
    if (!t->replay && !t->is_probe)
        schedule_note_gap(&t->schedule, f->mono_ns, f->interval_ns);
    if (t->whole)
        walk(t, f->mono_ns); /* first, so that CPU times are of the time that was stamped */
    machine_tick(t);
    if (t->whole) {
        network_tick(t);
        gpus_members(t);
        fold(t, slow_tick(t, f->mono_ns));
        mark_intake_look(t);
    }
    pick_processes(t);
    measure_self(t);
    summary_frame(&t->summary, f);
    hide_rates(t);
    hold_counters(t);
    outputs_frame(t);
    if (t->background.is_on)
        publish(t);
    f->tick++;
    t->tick_cost_ns = left_u64(clock_mono(t->scripted), f->mono_ns);
}
