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
    uint64_t look_ns;      /* when members are to be looked at without a sample */
    uint64_t look_cost_ns; /* CPU time of such a look, smoothed */
    uint64_t pauses;       /* times that samples were skipped, … */
    uint64_t longest_ns;   /* … and the longest time without one then */
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

/* A sample comes gap_ns after the one before. Where that is a second more than the interval, or
 * than the step of `auto` at no cost, samples were skipped: what lies between was not seen. */
void schedule_note_gap(struct schedule *s, uint64_t now_ns, uint64_t gap_ns);

/* Members were looked at, in a sample or without one, until ended_ns. The next look is due after
 * the step of `auto`, however long the interval of samples is: how often processes are observed
 * decides whether a loss is noticed. cost_ns: its CPU time, 0 after a sample. */
void schedule_looked(struct schedule *s, uint64_t ended_ns, uint64_t cost_ns);

/* The next sample or look. */
uint64_t schedule_due(const struct schedule *s);

/* How long a look has to be waited for so that all of them keep to the budget. */
uint64_t schedule_look_spacing(const struct schedule *s);
