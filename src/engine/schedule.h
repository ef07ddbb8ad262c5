/* SPDX-License-Identifier: MIT
 * When to sample: absolute deadlines, so that nothing drifts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct schedule {
    uint64_t fixed_ns; /* 0 = auto */
    double budget;     /* share of one core that auto may use */
    uint64_t start_ns;
    uint64_t deadline_ns; /* of the next sample */
    uint64_t cost_ns;     /* of a sample, smoothed */
    uint64_t missed;
};

/* The first sample comes after a millisecond, whatever the interval: a run shorter than that has
 * been seen at least once. */
void schedule_begin(struct schedule *s, uint64_t now_ns, uint64_t fixed_ns, double budget);

/* The step of `auto` at that age: the age itself up to 10 ms, then 10 ms, then a thirty-second of
 * the age, 1 s at most, so that a run of two seconds has a curve and a run of two days stays small.
 * Longer only when a sample costs so much that the budget asks for it. */
uint64_t schedule_auto_step(const struct schedule *s, uint64_t age_ns);

/* A sample was taken until ended_ns: set the next deadline. Those that fell into the time it took
 * are counted as missed, never bunched. cost_ns: the CPU time since the sample before, without
 * reads that have a budget of their own. */
void schedule_advance(struct schedule *s, uint64_t ended_ns, uint64_t cost_ns);
