/* SPDX-License-Identifier: MIT
 * A tracker: its subsystems, and what belongs to none of them. The way of one sample through it is
 * tick.c. */
#pragma once

#include "base/text/buf.h"
#include "engine/background.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/step.h"
#include "engine/target/cgroups.h"
#include "engine/target/energy.h"
#include "engine/target/gpus.h"
#include "engine/target/network.h"
#include "engine/target/process_ends.h"
#include "engine/target/reap.h"
#include "engine/target/threads.h"
#include "engine/target/tracked.h"
#include "engine/tick.h"
#include "summary/summary.h"
#include "toll.h"
#include "toll_compat.h"

struct replay;

struct toll_tracker {
    pid_t owner_pid;             /* the process that made it: a fork has none */
    struct toll_options options; /* pointers in it are not to be used after the start */
    struct run run;
    struct selection selection;
    struct replay *replay; /* owned, NULL: live */

    struct tracked tracked;
    struct exit_watch exits;
    struct slow_reads slow;
    struct machine machine;
    struct cgroups cgroups;
    struct job_cgroup job;
    struct process_ends ends;
    struct gpus gpus;
    struct network network;
    struct threads threads;
    struct energy_meter energy;
    struct marks marks;

    struct schedule schedule;
    struct wakeup wakeup;
    struct timeout timeout;
    struct self_cost self;
    struct frame frame;  /* being built, then complete for the summary */
    struct frame shown;  /* a copy for outputs, where it differs; borrows all from the frame */
    uint64_t rows_at_ns; /* when rows of single processes were published */
    uint64_t worked_ns;  /* when stat and io of all processes that had run were read */

    struct summary summary;
    struct outputs outputs;
    struct backup backup;
    struct background background;
    bool used; /* a launch, an attach or a replay was tried: a tracker is for one */
    bool started;
    bool settled; /* the figures are final; the summary is being written */
    bool finished;
};

/* True in a child of the program that made it, and for NULL. */
static inline bool is_elsewhere(const struct toll_tracker *t)
{
    return !t || t->owner_pid != getpid();
}

/* ==== Results ================================================================================= */

/* The results of a run as it is now, for callers that hold the tracker's lock. */

/* A summary in the format and the layout of an output. 0, or -errno and a sentence. */
int results_write(struct toll_tracker *t, const struct toll_output *like, struct buf *ret,
                  struct toll_error *e);

/* What most programs want to know of a run that is judged. */
struct toll_summary results_summarize(const struct summary *s);

/* ==== Lifetime ================================================================================ */

/* How a tracker comes to be, is finished, and goes. */

/* As toll_tracker_new and toll_tracker_finish say. */
int lifetime_new(struct toll_tracker **ret, const struct toll_options *options,
                 struct toll_error *e);
int lifetime_finish(struct toll_tracker *t);

/* 0, or -ESRCH and a sentence in a fork. */
int lifetime_check_owner(const struct toll_tracker *t, struct toll_error *e);

/* Closes and frees everything but the tracker itself. */
void lifetime_close(struct toll_tracker *t);
