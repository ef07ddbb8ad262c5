/* SPDX-License-Identifier: MIT
 * The phases that are open. A phase is known by its name and the process that began it; begun again
 * before its end it is one level deeper, and ends with the last level. */
#pragma once

#include "metric/frame.h"
#include "metric/metric.h"

/* ==== Phase figures =========================================================================== */

/* What was used between two moments, from the looks that fell between them.
 *
 * A counter counts from the first look on: what was used before it is missing, never made up. What
 * is summed over processes may be lower for a while, because some were read before others or
 * have left: then the largest value holds. A gauge counts, as in a series, for the time since
 * the look before. High-water marks are of a process's whole life and say nothing of a part of it.
 */

struct phase_figure;

struct phase_figures {
    const struct phase_figure *recorded; /* borrowed, by metric: read from a record, nothing below
                                        is known then; NULL: from looks */
    uint64_t looks;
    uint64_t first_ns, last_ns; /* when these were */
    struct row base;            /* counters at the first look that knew them */
    struct row most;            /* the largest values of counters */
    uint64_t low;               /* bits of counters that were lower at the last look */
    uint64_t fell;              /* bits of counters that fell for good */
    uint64_t lacking;           /* bits of counters that lacked a process which could not be read at
                                 * the last look, and of gauges that ever did */
    uint64_t late;              /* bits of counters that did before the first look that counts, or
                                 * that were not read since the phase began */
    bool missed;                /* something was used that no look will ever show */
    double peak[PROCESS_METRICS];
    double weighted[PROCESS_METRICS]; /* value times seconds */
    double seconds[PROCESS_METRICS];
    uint64_t gauges; /* bits of those that were seen */
};

void phase_figures_init(struct phase_figures *f);

/* refreshed_ns: what is read about once a second holds for that moment at least. */
void phase_figures_look(struct phase_figures *f, const struct row *row, uint64_t at_ns,
                        uint64_t refreshed_ns);

/* A process left and its usage is lost: the counters are lower bounds from now on. */
void phase_figures_miss(struct phase_figures *f);

/* Whether a phase can have such a figure. */
bool phase_figures_has(const struct metric *m);

/* What came of one metric. Numbers are in its unit, and hold what the quality says. */
struct phase_figure {
    enum quality quality;
    double total; /* of a counter */
    double max;   /* of a gauge; below 0: not known */
    double mean;
};

/* begin_ns and end_ns are when the phase was. */
struct phase_figure phase_figures_of(const struct phase_figures *f, enum metric_id id,
                                     uint64_t begin_ns, uint64_t end_ns);

/* ==== Phases ================================================================================== */

enum { PHASES_AT_MOST = 4096 };

/* Whose figures a phase has. */
enum phase_scope {
    SCOPE_UNKNOWN, /* not looked at yet */
    SCOPE_PROCESS, /* the process that began it, with its descendants */
    SCOPE_TARGET,  /* all of the target: its main process began it, or one that is no member */
};

struct phase {
    char *name;       /* owned */
    char *attributes; /* owned, words of a mark; NULL: none */
    pid_t pid;
    bool is_reported_for; /* another process reported the beginning for that process */
    uint64_t start_ticks; /* of that process, once it was looked at */
    unsigned depth;
    uint64_t begin_ns, end_ns;
    bool not_ended; /* the run was over first */
    enum phase_scope scope;
    bool process_left;   /* while the phase was open */
    bool by_main;        /* a main process of a target began it */
    uint64_t target_bit; /* the target of that process; 0: all targets count */
    struct phase_figures of_process;
    struct phase_figures of_target;
};

struct phases {
    struct phase **open; /* owned, in the order of their beginning */
    size_t count;
    size_t capacity;
};

void phases_done(struct phases *p);
void phase_free(struct phase *p);

/* 0 and a new phase; 1 when it is open already and is now one level deeper; -ENOSPC, -ENOMEM. */
int phases_begin(struct phases *p, const char *name, pid_t pid, uint64_t at_ns, struct phase **ret);

/* Whether such a phase is open that was begun for that process, not by itself: that of a shell. */
bool phases_was_begun_for(const struct phases *p, const char *name, pid_t pid);

/* Whether the process that began the phase is not there any more. */
struct phase_owner {
    bool (*has_left)(const void *context, const struct phase *p);
    const void *context;
};

/* The phase of that process, otherwise the newest of that name whose process has left: another
 * shell of the same recipe may have begun it. One that goes on elsewhere is not touched. 0 and the
 * phase, which the caller frees; 1 when a level is left; -ENOENT. */
int phases_end(struct phases *p, const char *name, pid_t pid, uint64_t at_ns,
               const struct phase_owner *owner, struct phase **ret);

/* The oldest one, ended because the run is over; the caller frees it. NULL when none is open. When
 * its process left before, it ended no later than that: with the last look at it, at which it had
 * used at least so much. */
struct phase *phases_cut(struct phases *p, uint64_t at_ns);

/* Whether the figures are those of the target. When the process has left and another one said the
 * end, what followed went on elsewhere in the job. */
bool phase_is_of_target(const struct phase *p);

/* Whether they are although another process than the target's main process began it. */
bool phase_is_widened(const struct phase *p);
const struct phase_figures *phase_figures(const struct phase *p);

/* Something that the job reported about itself. */
struct run_mark {
    enum mark_kind kind; /* of a phase: its end */
    const char *name;
    pid_t pid;
    uint64_t elapsed_ns;       /* when it was reported */
    uint64_t start_ns;         /* of the run, on the clock of the phase */
    double value;              /* of a gauge */
    struct scan attributes;    /* for mark_text_attribute */
    const struct phase *phase; /* borrowed, NULL: it is none */
};

/* ==== Mark totals ============================================================================= */

/* What the marks of a run came to: phases and the program's own figures by their names, in fixed
 * memory however many marks there were. */

enum { MARK_NAMES_AT_MOST = 256 };

/* All phases of one name. */
struct phase_total {
    char *name; /* owned */
    uint64_t count;
    uint64_t not_ended; /* how many were open when the run was over */
    uint64_t instance;  /* how many were looked at often enough to know their usage */
    uint64_t total_ns, min_ns, max_ns;
    pid_t pid;       /* of the first */
    bool of_several; /* processes */
    bool of_target;  /* some have the figures of the whole target, not of a process */
    bool widened;    /* of_target although another process than its main process began them */
    uint64_t widened_until_ns; /* when the last widened one ended */
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

/* Whether there was any mark. */
bool mark_totals_any(const struct mark_totals *t);

/* A phase is over. Times are on the clock that figures have. False when there was no room. */
struct phase_over {
    const char *name;
    pid_t pid;
    uint64_t begin_ns, end_ns;
    bool not_ended;
    bool of_target;                      /* figures are of the whole target */
    const struct phase_figures *figures; /* borrowed */
    bool widened; /* of_target although another of its processes began the phase */
};
bool mark_totals_phase(struct mark_totals *t, const struct phase_over *p);

/* The job reported a figure. */
bool mark_totals_gauge(struct mark_totals *t, const char *name, double value, uint64_t elapsed_ns);

/* What all phases of that name used of one metric. A sum in which some are missing is a lower
 * bound. */
struct phase_figure phase_total_figure(const struct phase_total *p, enum metric_id id);
