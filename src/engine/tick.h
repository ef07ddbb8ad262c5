/* SPDX-License-Identifier: MIT
 * One sample, from the kernel's files to the outputs. */
#pragma once

#include "engine/step.h"
#include "engine/target/tracked.h"
#include "source/collector.h"

struct toll_tracker;

/* ==== Machine ================================================================================= */

/* What is read of the machine around the targets: the collectors, each at its pace. */

enum { COLLECTORS_AT_MOST = 16 };

struct machine {
    struct instance system;
    struct collect_context context;
    void *states[COLLECTORS_AT_MOST]; /* of collectors[], NULL: not open */
    bool is_open[COLLECTORS_AT_MOST];
    uint64_t next_ns[COLLECTORS_AT_MOST];
    struct instance_list list; /* of this tick */
    unsigned numbered;         /* instances that were ever read */
};

/* Opens the collectors that are needed. */
void machine_open(struct toll_tracker *t);
void machine_close(struct machine *m);

/* ==== Slow reads ============================================================================== */

/* smaps_rollup walks page tables, milliseconds per gigabyte, and holds a lock that the job needs
 * for mapping memory. A round over all members is made when it fits the budget; the next comes no
 * sooner than the budget allows after its real cost. A long round goes on over several ticks. */
struct slow_reads {
    uint64_t pass; /* the round that is being made */
    bool in_pass;
    uint64_t cost_ns;      /* of this round so far */
    uint64_t began_ns;     /* when this round, or the last one, began */
    uint64_t next_ns;      /* not before */
    uint64_t tick_cpu_ns;  /* CPU time in this tick */
    uint64_t spent_ns;     /* CPU time in the whole run */
    uint64_t rss_bytes;    /* of all in the last round */
    uint64_t round_ns;     /* CPU time of the last complete round; 0: there was none, or a replay */
    size_t round_members;  /* when it began */
    uint64_t start_cpu_ns; /* CPU time of the tracker until the run was 100 ms old */
    double share;          /* of one core that these reads may use now */
    bool unavailable;
    bool is_in_rows; /* an output has them in every row: with a fixed interval, read for each */
};

/* ==== Own cost ================================================================================ */

struct self_cost {
    uint64_t (*cpu)(void);  /* CPU time of this process, or of the thread that samples */
    uint64_t cpu_base_ns;   /* before the tracker was made */
    uint64_t cpu_ns;        /* since then, up to the last sample */
    uint64_t beside_cpu_ns; /* the part of it that further threads of the tracker used */
    uint64_t tick_cost_ns;  /* time that the tick before took */
    uint64_t lateness_ns;
    uint64_t refreshed_ns; /* when own memory was read */
    struct row row;
    struct entity entity;
};

/* ==== Tick ==================================================================================== */

enum tick_kind {
    TICK_DUE,     /* the schedule asked for it */
    TICK_BETWEEN, /* a mark did */
    TICK_LAST,    /* the run is over: its figures are final */
};

/* Takes a sample: reads, folds, adds the frame to the summary, then publishes it to the outputs.
 * From there on it is constant; the frame that was published is returned. */
const struct frame *tick(struct toll_tracker *t, enum tick_kind kind);
