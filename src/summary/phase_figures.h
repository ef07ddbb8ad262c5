/* SPDX-License-Identifier: MIT
 * What was used between two moments, from the looks that fell between them.
 *
 * A counter counts from the first look on: what was used before it is missing, never made up. What
 * is summed over processes may stand lower for a while, because some were read before others or
 * have left: then the most that was seen holds. A gauge stands, as in a series, for the time since
 * the look before. High-water marks are of a process's whole life and say nothing of a part of it.
 */
#pragma once

#include "metric/frame.h"
#include "metric/quality.h"

struct phase_figure;

struct phase_figures {
    const struct phase_figure *told; /* borrowed, by metric: read from a record, nothing below is
                                        known then; NULL: from looks */
    uint64_t looks;
    uint64_t first_ns, last_ns; /* when these were */
    struct row base;            /* counters at the first look that knew them … */
    struct row most;            /* … and the most they came to */
    uint64_t low;               /* bits of counters that stood lower at the last look, … */
    uint64_t fell;              /* … and of those that ever did for good */
    uint64_t lacking;           /* bits of counters that lacked a process which could not be read at
                                 * the last look, and of gauges that ever did … */
    uint64_t late; /* … and of counters that did before the first look that counts, or
                    * that were not read since the phase began */
    bool missed;   /* something was used that no look will ever show */
    double peak[PROCESS_METRICS];
    double weighted[PROCESS_METRICS]; /* value times seconds */
    double seconds[PROCESS_METRICS];
    uint64_t gauges; /* bits of those that were seen */
};

void phase_figures_init(struct phase_figures *f);

/* refreshed_ns: what is read about once a second holds for that moment at least. */
void phase_figures_look(struct phase_figures *f, const struct row *row, uint64_t at_ns,
                        uint64_t refreshed_ns);

/* Somebody left with what he had used: the counters are lower bounds from now on. */
void phase_figures_miss(struct phase_figures *f);

/* Whether a phase can have such a figure. */
bool phase_figures_has(const struct metric *m);

/* What came of one metric. Numbers are in its unit, and hold what the quality says. */
struct phase_figure {
    enum quality quality;
    double total; /* of a counter */
    double max;   /* of a gauge; below 0: not told */
    double mean;
};

/* begin_ns and end_ns are when the phase was. */
struct phase_figure phase_figures_of(const struct phase_figures *f, enum metric_id id,
                                     uint64_t begin_ns, uint64_t end_ns);
