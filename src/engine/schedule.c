/* SPDX-License-Identifier: MIT */
#include "engine/schedule.h"

#include "base/util.h"

enum { AUTO_SHARE_OF_AGE = 32 };

#define FIRST_NS         NS_PER_MS
#define AUTO_FINEST_NS   (10 * NS_PER_MS)
#define AUTO_COARSEST_NS NS_PER_SECOND
#define AUTO_LONGEST_NS  (10 * NS_PER_SECOND)

void schedule_begin(struct schedule *s, uint64_t now_ns, uint64_t fixed_ns, double budget)
{
    *s = (struct schedule){.fixed_ns = fixed_ns, .budget = budget, .start_ns = now_ns};
    s->deadline_ns = now_ns + FIRST_NS;
    s->look_ns = UINT64_MAX; /* after the first sample */
}

/* At a certain age, when each of them costs so much. */
static uint64_t auto_step(const struct schedule *s, uint64_t age_ns, uint64_t cost_ns)
{
    if (age_ns < AUTO_FINEST_NS)
        return max_u64(age_ns, FIRST_NS);
    uint64_t step = min_u64(max_u64(age_ns / AUTO_SHARE_OF_AGE, AUTO_FINEST_NS), AUTO_COARSEST_NS);
    uint64_t affordable = (uint64_t)((double)cost_ns / s->budget);
    return max_u64(step, min_u64(affordable, AUTO_LONGEST_NS));
}

uint64_t schedule_auto_step(const struct schedule *s, uint64_t age_ns)
{
    return auto_step(s, age_ns, s->cost_ns);
}

static uint64_t smooth(uint64_t before_ns, uint64_t now_ns)
{
    return before_ns ? (before_ns * 7 + now_ns) / 8 : now_ns;
}

void schedule_advance(struct schedule *s, uint64_t ended_ns, uint64_t cost_ns)
{
    s->cost_ns = smooth(s->cost_ns, cost_ns);
    uint64_t age = left_u64(s->deadline_ns, s->start_ns);
    uint64_t step = s->fixed_ns ? s->fixed_ns : schedule_auto_step(s, age);
    if (s->fixed_ns && age == FIRST_NS && s->fixed_ns > FIRST_NS)
        s->deadline_ns = s->start_ns; /* from here on a multiple of the interval */
    s->deadline_ns += step;
    if (s->deadline_ns > ended_ns)
        return;
    uint64_t behind = (ended_ns - s->deadline_ns) / step + 1;
    s->missed += behind;
    s->deadline_ns += behind * step;
}

void schedule_note_gap(struct schedule *s, uint64_t now_ns, uint64_t gap_ns)
{
    uint64_t age = left_u64(now_ns, s->start_ns);
    uint64_t expected = s->fixed_ns ? s->fixed_ns : auto_step(s, age, 0);
    if (gap_ns < expected + AUTO_COARSEST_NS)
        return;
    s->pauses++;
    s->longest_ns = max_u64(s->longest_ns, gap_ns);
}

void schedule_looked(struct schedule *s, uint64_t ended_ns, uint64_t cost_ns)
{
    if (cost_ns)
        s->look_cost_ns = smooth(s->look_cost_ns, cost_ns);
    uint64_t age = left_u64(ended_ns, s->start_ns);
    s->look_ns = s->fixed_ns ? ended_ns + auto_step(s, age, s->look_cost_ns) : UINT64_MAX;
}

uint64_t schedule_due(const struct schedule *s)
{
    return min_u64(s->deadline_ns, s->look_ns);
}

uint64_t schedule_look_spacing(const struct schedule *s)
{
    return (uint64_t)((double)s->look_cost_ns / s->budget);
}
