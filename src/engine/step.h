/* SPDX-License-Identifier: MIT
 * One turn of a tracker that has begun: what ended is reaped, a sample is taken if one is due.
 * Steps, the finish and probes are what drives a tracker; nothing else walks or takes samples. */
#pragma once

#include "base/util.h"
#include "metric/frame.h"
#include "summary/summary.h"
#include "toll.h"

#include <stdbool.h>
#include <stdint.h>

struct process_reader;
struct toll_tracker;
struct tracked;

/* ==== Schedule ================================================================================ */

/* When to sample: absolute deadlines, so that nothing drifts. */

struct schedule {
    uint64_t fixed_ns; /* 0 = auto */
    double budget;     /* share of one core that auto may use */
    uint64_t start_ns;
    uint64_t deadline_ns; /* of the next sample */
    uint64_t cost_ns;     /* of a sample, smoothed */
    uint64_t missed;
    uint64_t look_ns;      /* when members are to be looked at without a sample */
    uint64_t look_cost_ns; /* CPU time of such a look, smoothed */
    uint64_t pauses;       /* how often samples were skipped */
    uint64_t longest_ns;   /* the longest time without a sample then */
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

/* The last sample is taken, at now_ns: it stands for the deadline that has passed; those after it
 * were missed. */
void schedule_end(struct schedule *s, uint64_t now_ns);

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

/* ==== Wakeup ================================================================================== */

/* The one descriptor the caller waits on: the timer of the samples and all else that is watched. */
struct wakeup {
    int timer;
    int epoll; /* the timer itself when nothing else is watched */
};

/* only_the_clock: nothing will be watched; the descriptor is the timer itself, which spares a tick
 * the way through an epoll. 0 or -errno. */
int wakeup_open(struct wakeup *w, bool only_the_clock);
void wakeup_close(struct wakeup *w);

/* Also when the descriptor is readable, or becomes so. 0 or -errno. */
int wakeup_watch(const struct wakeup *w, int fd);
int wakeup_watch_edge(const struct wakeup *w, int fd);

/* ==== Timeout ================================================================================= */

/* A command that was given a time: SIGTERM to it and its descendants when that is over, SIGKILL
 * after a grace. */
struct timeout {
    bool term_sent;
    bool kill_sent;
    bool is_over;
    uint64_t again_ns; /* when SIGKILL is sent once more */
};

/* When there is something to do, UINT64_MAX for never. */
uint64_t timeout_due(const struct timeout *timeout, const struct tracked *t);

/* Sends a signal to a process as it was last read: -ESRCH when its number is another one's by now.
 */
int timeout_signal(struct process_reader *r, const struct entity *e, int number);

/* ==== Step ==================================================================================== */

/* As toll_tracker_step says. */
int step(struct toll_tracker *t);

/* Sets the timer for what is due next: a sample, a look, or the end of the command's time. */
void step_arm(const struct toll_tracker *t);

/* Takes in the marks that have come, with a sample before them where a phase begins or ends. */
void step_marks(struct toll_tracker *t);

/* Reaps all children that have ended; never waits. */
void step_reap(struct toll_tracker *t);

/* Notes the targets that have ended, after another walk where one may have left members that were
 * not seen. True when all have. */
bool step_targets_ended(struct toll_tracker *t);

/* ==== Begin =================================================================================== */

/* The three ways a run begins. A tracker is for one of them, once. Each returns 0, or -errno and a
 * sentence. */

/* Starts the command; all that can fail is done before. */
int begin_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                 struct toll_error *e);

/* Measures what is there already: the targets that were added, or the machine alone. */
int begin_attach(struct toll_tracker *t, struct toll_error *e);

/* Measures a recorded run. */
int begin_replay(struct toll_tracker *t, const char *directory, struct toll_error *e);

/* Finds the members and takes what they have used so far as the base. -ESRCH and a sentence when a
 * target has none. */
int attach(struct toll_tracker *t, struct toll_error *e);

/* ==== Finish ================================================================================== */

/* From now on the figures are final. The summary is not yet written. */
void finish(struct toll_tracker *t);

/* ==== Quality ================================================================================= */

/* What every figure of the targets is worth, judged when the run is over or when the program asks.
 */

/* More than these cannot have been in use at any moment; 0: not known. */
double quality_most_cores(const struct run *run);

/* Into the tracker's own summary when the run is over, into a copy of it before: what is settled by
 * the end must not be judged by what was known in between. */
void quality_judge_all(struct toll_tracker *t, struct summary *summary);

/* ==== Replay ================================================================================== */

/* A recorded run in place of a live one: for each sample a tree of /proc, a script with the times
 * and with what wait4 said. docs/testing.md describes the script. */

int replay_open(struct toll_tracker *t, const char *directory, struct toll_error *e);
void replay_close(struct toll_tracker *t);

/* Up to the next sample. 1, 0 at the end of the script, -EBADMSG. */
int replay_step(struct toll_tracker *t);
