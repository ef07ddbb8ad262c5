/* SPDX-License-Identifier: MIT */
#include "engine/slow.h"

#include "engine/outputs.h"

#define SHORTEST_SPACING_NS (100 * NS_PER_MS)
#define USUAL_SPACING_NS    NS_PER_SECOND
#define SHORTEST_SLICE_NS   NS_PER_MS

static uint64_t slow_metrics(void)
{
    return BIT(process_memory_pss_bytes) | BIT(process_memory_uss_bytes);
}

/* Before the first round: what it will about cost, from the memory there is to walk. */
static uint64_t guess_cost(const struct toll_tracker *t)
{
    uint64_t rss = row_u64(&t->parts[PART_COMBINED], process_memory_rss_bytes);
    return t->members.count * 15 * NS_PER_US + rss / 200; /* 5 ms per gigabyte */
}

/* Cheap rounds come often only while the run is young. */
static uint64_t spacing_after(const struct toll_tracker *t, uint64_t cost_ns, uint64_t now_ns)
{
    if (t->options.memory == TOLL_MEMORY_PSS)
        return SHORTEST_SPACING_NS;
    uint64_t usual = min_u64((now_ns - t->start_ns) / 8, USUAL_SPACING_NS);
    uint64_t affordable = (uint64_t)((double)cost_ns * 100 / t->options.budget_percent);
    return max_u64(max_u64(usual, affordable), SHORTEST_SPACING_NS);
}

static bool may_begin(const struct toll_tracker *t, uint64_t now_ns)
{
    if (t->slow.pass)
        return now_ns >= t->slow.next_ns;
    return t->options.memory == TOLL_MEMORY_PSS ||
           now_ns - t->start_ns >=
               (uint64_t)((double)guess_cost(t) * 100 / t->options.budget_percent);
}

/* The next members until the slice is used up. True when none is left. */
static bool go_on(struct toll_tracker *t, uint64_t began_ns)
{
    uint64_t slice = max_u64(t->schedule.fixed_ns / 4, SHORTEST_SLICE_NS);
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (m->slow_pass == t->slow.pass || !m->was_seen || m->process.has_ended)
            continue;
        m->slow_pass = t->slow.pass;
        t->members_changed = true;
        if (process_visit_slow(&t->reader, source_of(m), &m->process) == -ENOENT) {
            t->slow.unavailable = true;
            return true;
        }
        if (clock_mono(t->scripted) - began_ns > slice)
            return false;
    }
    return true;
}

bool slow_tick(struct toll_tracker *t, uint64_t now_ns)
{
    struct slow_reads *slow = &t->slow;
    if (slow->unavailable || t->options.memory == TOLL_MEMORY_RSS ||
        !(t->reader.wanted & slow_metrics()))
        return false;
    if (!slow->in_pass) {
        if (slow->pass && !slow->outdated)
            return true; /* nobody ran: the figures of the last round hold, and weigh as time passes
                          */
        if (!may_begin(t, now_ns))
            return false;
        slow->in_pass = true;
        slow->outdated = false;
        slow->pass++;
        slow->cost_ns = 0;
    }
    uint64_t began = clock_mono(t->scripted);
    bool complete = go_on(t, began);
    slow->cost_ns += clock_mono(t->scripted) - began;
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
