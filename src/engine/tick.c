/* SPDX-License-Identifier: MIT */
#include "engine/tick.h"

#include "engine/outputs.h"
#include "engine/slow.h"
#include "engine/walk.h"

enum { TOP_PROCESSES = 20 };

#define ROWS_EVERY_NS   NS_PER_SECOND
#define REFRESH_SELF_NS NS_PER_SECOND

/* The run ends with the command, or with the last process, not when toll has noticed. */
static uint64_t end_of_run(const struct toll_tracker *t, uint64_t now_ns)
{
    const struct reaper *r = &t->reaper;
    if (t->options.wait == TOLL_WAIT_MAIN && r->main_reaped)
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

/* The parts of the target: sums, then rates; figures that are read rarely only when they are new.
 */
static void fold(struct toll_tracker *t, bool slow_is_fresh)
{
    ledger_fold(&t->ledger, &t->members, t->members_changed, t->frame.last, t->parts);
    t->members_changed = false;
    for (unsigned part = 0; part < PARTS; part++) {
        struct row *row = &t->parts[part];
        row_put_u64(row, process_wall_seconds, t->frame.elapsed_ns);
        if (!slow_is_fresh) {
            row_unknown(row, process_memory_pss_bytes);
            row_unknown(row, process_memory_uss_bytes);
        }
    }
    if (slow_is_fresh)
        slow_remember(t);
    rates_of_parts(&t->rates, t->parts, t->frame.interval_ns);
    for (unsigned part = 0; part < PARTS; part++)
        if (part == PART_COMBINED || !t->run.no_children)
            t->frame.target[part] = (struct frame_row){&t->part_entities[part], &t->parts[part]};
    t->summary.denied |= t->ledger.denied;
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
    const struct member *main = t->members.order[0];
    uint64_t after = left_u64(m->process.entity.start_ticks,
                              main->is_main ? main->process.entity.start_ticks : 0);
    if (main->is_main)
        row_put_u64(&m->process.own, process_wall_seconds,
                    left_u64(f->elapsed_ns, after * t->reader.ns_per_tick));
    rates_of_member(m, f->mono_ns);
    f->processes[f->process_count++] = (struct frame_row){&m->process.entity, &m->process.own};
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
        if (picked[i]->was_seen)
            publish_member(t, picked[i]);
}

/* ---- The cost of it -------------------------------------------------------------------------- */

static void measure_self(struct toll_tracker *t)
{
    struct row *row = &t->self_row;
    uint64_t now_ns = t->frame.mono_ns;
    bool refresh = t->frame.last || !t->refreshed_ns || now_ns - t->refreshed_ns >= REFRESH_SELF_NS;
    row_init(row, ENTITY_SELF);
    self_collect(&t->root, t->cpu_base_ns, row, refresh);
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

void tick(struct toll_tracker *t, bool last)
{
    struct frame *f = &t->frame;
    frame_begin(f);
    stamp(t, f, last);
    walk(t, f->mono_ns);
    bool slow_is_fresh = slow_tick(t, f->mono_ns);
    fold(t, slow_is_fresh);
    pick_processes(t);
    measure_self(t);
    summary_frame(&t->summary, f);
    outputs_frame(t);
    f->tick++;
    t->tick_cost_ns = left_u64(clock_mono(t->scripted), f->mono_ns);
}
