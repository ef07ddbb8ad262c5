/* SPDX-License-Identifier: MIT
 * What the marks of a run came to: phases and the program's own figures by their names, in fixed
 * memory however many marks there were. */
#pragma once

#include "summary/phase_figures.h"

enum { MARK_NAMES_AT_MOST = 256 };

/* All phases of one name. */
struct phase_total {
    char *name; /* owned */
    uint64_t count;
    uint64_t not_ended; /* … of them: the run was over first */
    uint64_t measured;  /* … of them: looked at often enough to tell what they used */
    uint64_t total_ns, min_ns, max_ns;
    pid_t pid;                 /* of the first */
    bool of_several;           /* processes */
    bool of_target;            /* some have the figures of the whole target, not of a process … */
    bool widened;              /* … although another one than its main process began them … */
    uint64_t widened_until_ns; /* … the last of which ended then */
    struct {
        uint64_t known; /* of how many phases */
        bool partly;    /* some of them are lower bounds */
        double total;   /* of a counter */
        double max;     /* of a gauge, the largest */
        double weighted, seconds;
    } figures[PROCESS_METRICS];
};

/* One of the program's own figures. */
struct gauge_total {
    char *name; /* owned */
    uint64_t count;
    double last, min, max, sum;
    uint64_t max_at_ns; /* since the start of the run */
};

struct mark_totals {
    struct phase_total *phases; /* owned */
    size_t phase_count;
    struct gauge_total *gauges; /* owned */
    size_t gauge_count;
    uint64_t left_out; /* phases and figures of names for which there was no room */
    uint64_t events;
    uint64_t unmatched;            /* ends of phases that had not begun */
    uint64_t taken, ignored, lost; /* marks: used, not understood or of others, never arrived */
};

void mark_totals_done(struct mark_totals *t);

/* Whether anybody said anything. */
bool mark_totals_any(const struct mark_totals *t);

/* A phase is over. Times are on the clock that figures have. False when there was no room. */
struct phase_over {
    const char *name;
    pid_t pid;
    uint64_t begin_ns, end_ns;
    bool not_ended;
    bool of_target;                      /* figures are of the whole target */
    const struct phase_figures *figures; /* borrowed */
    bool widened;                        /* … although a process of it began the phase */
};
bool mark_totals_phase(struct mark_totals *t, const struct phase_over *p);

/* A figure was told. */
bool mark_totals_gauge(struct mark_totals *t, const char *name, double value, uint64_t elapsed_ns);

/* What all phases of that name used of one metric. A sum in which some are missing is a lower
 * bound. */
struct phase_figure phase_total_figure(const struct phase_total *p, enum metric_id id);
