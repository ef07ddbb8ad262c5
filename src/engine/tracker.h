/* SPDX-License-Identifier: MIT
 * All that a tracker is. The way of one sample through it is tick.c. */
#pragma once

#include "account/ladder.h"
#include "account/rates.h"
#include "base/clock.h"
#include "collect/process_visit.h"
#include "collect/self.h"
#include "engine/launch.h"
#include "engine/schedule.h"
#include "parse/pid_io.h"
#include "sink/sink.h"
#include "summary/summary.h"

#include <sys/resource.h>

/* What the tracker reaped itself, counted from the launch on. */
struct reaper {
    struct rusage usage_base; /* children reaped before: they survive an exec of toll */
    struct pid_io io_base;
    bool has_io;
    bool main_reaped;
    bool no_children_left;
    uint64_t floor_rss_bytes; /* the launcher's memory: a smaller high-water mark may be its own */
    bool peak_is_exact;
    struct toll_end end;  /* of the main process */
    uint64_t main_end_ns; /* when it was reaped … */
    uint64_t last_end_ns; /* … and when anybody was, last */
};

/* How new members are found. */
struct discovery {
    pid_t tracker_pid;             /* orphans come to it */
    struct process_source tracker; /* for its children file */
    int loadavg;                   /* kept descriptor, -1 when not open */
    uint64_t last_pid;             /* handed out by the kernel when last asked */
    struct map outsiders;          /* pids seen in a scan that do not belong to the target */
    struct map strangers;          /* children this process had before the launch */
    uint64_t all_after_ns;         /* ask everybody again then */
};

/* The reads that are dear, on their budget. */
struct slow_reads {
    uint64_t pass; /* the round that is being made */
    bool in_pass;
    uint64_t cost_ns;               /* of this round so far */
    uint64_t began_ns;              /* the round that is being made, or was last */
    uint64_t next_ns;               /* not before */
    bool outdated;                  /* a process has run, come or left since the last round */
    uint64_t tick_cpu_ns;           /* CPU time they took in this tick */
    uint64_t spent_ns;              /* … and in the whole run */
    uint64_t rss_bytes;             /* of the target in the last round … */
    uint64_t most_rss_bytes[PARTS]; /* … and the most of each part in any round */
    bool unavailable;
};

struct replay;

struct toll_tracker {
    struct toll_options options; /* pointers in it are not to be used after the start */
    struct run run;
    struct selection selection;
    struct sysroot root;
    struct clock *scripted; /* NULL: the machine's own clocks */
    struct replay *replay;  /* owned, NULL: live */

    struct launched launched;
    struct reaper reaper;
    struct discovery discovery;
    struct process_reader reader;
    struct members members; /* payload: struct process_source */
    bool members_changed;   /* since they were last summed up */
    struct ledger ledger;
    struct rates rates;
    struct slow_reads slow;

    struct schedule schedule;
    int timer;
    int epoll;
    uint64_t start_ns;
    uint64_t cpu_base_ns;  /* CPU time of this process before the tracker was made */
    uint64_t cpu_ns;       /* … and since, up to the last sample */
    uint64_t tick_cost_ns; /* of the tick before */
    uint64_t lateness_ns;
    uint64_t refreshed_ns; /* own memory was read */
    uint64_t rows_at_ns;   /* process rows were published */

    struct row parts[PARTS];
    struct entity part_entities[PARTS];
    struct row self_row;
    struct entity self_entity;
    struct frame frame;

    struct sink **sinks; /* owned */
    size_t sink_count;
    struct summary summary;
    bool used; /* a launch or a replay was tried: a tracker is for one */
    bool started;
    bool finished;
};

static inline struct process_source *source_of(struct member *m)
{
    return (struct process_source *)m->payload;
}
