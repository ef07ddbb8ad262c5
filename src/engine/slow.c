/* SPDX-License-Identifier: MIT */
#include "engine/slow.h"

#include "engine/outputs.h"

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
static bool go_on(struct toll_tracker *t, uint64_t began_ns)
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

bool slow_tick(struct toll_tracker *t, uint64_t now_ns)
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
    bool complete = go_on(t, began);
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

void slow_remember(struct toll_tracker *t)
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
