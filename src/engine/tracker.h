/* SPDX-License-Identifier: MIT
 * All that a tracker is. The way of one sample through it is tick.c. */
#pragma once

#include "account/ladder.h"
#include "account/settle.h"
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/process_visit.h"
#include "collect/self.h"
#include "collect/task_records.h"
#include "engine/background.h"
#include "engine/backup.h"
#include "engine/gpu_things.h"
#include "engine/launch.h"
#include "engine/mark_queue.h"
#include "engine/mark_socket.h"
#include "engine/schedule.h"
#include "engine/target.h"
#include "parse/pid_io.h"
#include "sink/sink.h"
#include "summary/phases.h"
#include "summary/summary.h"

#include <stdatomic.h>
#include <sys/resource.h>

/* What the tracker reaped itself, counted from the launch on. */
struct reaper {
    struct rusage usage_base; /* children reaped before: they survive an exec of toll */
    struct pid_io io_base;
    bool has_io;
    bool main_reaped;
    bool no_children_left;
    bool no_waitid; /* the kernel does not say which child has ended before it is reaped */
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
    bool hidden_noted;             /* a note was given about a process that /proc hides */
    uint64_t last_pid;             /* handed out by the kernel when last asked */
    struct map outsiders;          /* pids seen in a scan that do not belong to the target */
    struct map strangers;          /* children of this process that are none of the job's */
    uint64_t all_after_ns;         /* ask everybody again then */
    const struct member *parent;   /* whose children are being met, NULL: the tracker's */
    uint64_t tree_bits;            /* targets whose members' children belong to them … */
    uint64_t rule_bits;            /* … and those that a process belongs to by itself */
    bool by_scan;                  /* some target needs a look at every process of the machine */
    bool overlap;                  /* somebody belonged to two targets at once */
    bool by_match;                 /* some target goes by the command line */
    uint64_t start_ticks;          /* when tracking began, in the unit of a process's start */
    uint64_t walked_ticks;         /* … and when all was last walked over */
    uint64_t walked_ns;            /* … by the clock of samples */
    uint64_t bookings;             /* times that members which left were booked */
    uint64_t first_booking; /* … the first after baselines were read again; 0: they were not */
    bool attaching;         /* the first walk: what is there was there before */
    bool somebody_waits;    /* to be asked for children, because that is dear */
    bool with_tracker;      /* the process that measures may belong to a target */
    uint64_t apart_ns;      /* CPU time since the last sample of looks that do not come
                               again with every sample: the first at a process, … */
    uint64_t still_ns;      /* … and in the whole run those at processes that sleep, which
                               have a budget of their own */
    int unread;             /* why one that was met could not be read; 0: none */
};

/* The reads that are dear, on their budget. */
struct slow_reads {
    uint64_t pass; /* the round that is being made */
    bool in_pass;
    uint64_t cost_ns;     /* of this round so far */
    uint64_t began_ns;    /* the round that is being made, or was last */
    uint64_t next_ns;     /* not before */
    bool outdated;        /* a process has run, come or left since the last round */
    uint64_t tick_cpu_ns; /* CPU time they took in this tick */
    uint64_t spent_ns;    /* … and in the whole run */
    uint64_t rss_bytes;   /* of all in the last round */
    bool unavailable;
    bool is_in_rows; /* an output has them in every row: with a fixed interval, read for each */
};

enum { COLLECTORS_AT_MOST = 16 };

/* What is read of the machine around the target. */
struct machine {
    struct measured system;
    struct collect_context context;
    void *states[COLLECTORS_AT_MOST]; /* of collectors[], NULL: not open */
    bool is_open[COLLECTORS_AT_MOST];
    uint64_t next_ns[COLLECTORS_AT_MOST];
    struct measured_list list; /* of this tick */
    unsigned numbered;         /* things that were ever read */
};

struct cgroup;

/* A cgroup that a target is in, or is. */
struct around {
    struct cgroup *cgroup; /* owned unless it is a target's */
    bool is_target;
    bool was_left;       /* no target is in it any more: it is not read */
    uint64_t oom_kills;  /* when it was met; UINT64_MAX: not known … */
    uint64_t peak_bytes; /* … and the most memory it ever had until then; the same */
};

struct surroundings {
    struct cgroup *own;    /* borrowed from those below: the one we are in; NULL: not asked for */
    struct around *around; /* owned; each cgroup once */
    size_t count;
    size_t collected;   /* how many there were when they were last read … */
    uint64_t next_ns;   /* … and when to do so again */
    uint64_t follow_ns; /* when to ask where the targets are */
};

struct mark_waiting;

/* What the job says of itself. */
struct marks {
    struct mark_queue queue;      /* of this program, from any thread */
    struct mark_socket socket;    /* of a command */
    int failure;                  /* why there is no socket, or 0 */
    struct mark_waiting *waiting; /* owned: collected in this step */
    size_t waiting_count;
    size_t waiting_capacity;
    struct phases phases;
    struct row summed; /* what a process and its descendants have used … */
    pid_t summed_pid;  /* … which one's … */
    uint64_t summed_tick;
    uint64_t refreshed_ns;  /* of the last look, see phase_figures_look; 0: not asked */
    uint64_t looks_cost_ns; /* CPU time of all looks for marks, … */
    uint64_t look_cost_ns;  /* … and of the last one */
    bool looks_rest;        /* too much was used: not for now */
};

struct exit_parent;

/* The kernel's records of processes that start and end, when asked for. */
struct exit_watch {
    bool is_on;
    int failure; /* why not, 0: not asked for, or it is on */
    struct task_records records;
    struct exit_parent *parents; /* owned; whose children ended */
    size_t parent_count;
    size_t parent_capacity;
    struct map by_pid; /* pid -> place in parents */
    uint64_t round;
};

struct replay;

struct toll_tracker {
    pid_t owner_pid;             /* the process that made it: a fork has none */
    struct toll_options options; /* pointers in it are not to be used after the start */
    struct run run;
    struct selection selection;
    struct sysroot root;
    struct clock *scripted; /* NULL: the machine's own clocks */
    struct replay *replay;  /* owned, NULL: live */

    struct target *targets; /* owned; behind several stands their union */
    size_t target_count;
    struct target *whole; /* all of them: the only one, or the union; NULL: there is none */
    struct frame_target *frame_targets; /* owned, one for each of several */

    struct launched launched;
    struct reaper reaper;
    struct discovery discovery;
    struct exit_watch exits;
    struct process_reader reader;
    struct members members; /* payload: struct process_source */
    bool members_changed;   /* since they were last summed up */
    struct slow_reads slow;
    struct machine machine;
    struct surroundings surroundings;
    struct gpus gpus;
    struct {
        struct sockets *sockets; /* owned, NULL: not to be had */
        uint64_t next_ns;
    } network;

    struct {
        bool told;   /* SIGTERM was sent */
        bool killed; /* … and SIGKILL */
        bool is_over;
        uint64_t again_ns; /* SIGKILL is sent once more */
    } timeout;

    struct marks marks;
    struct background background;
    struct backup backup;
    struct schedule schedule;
    int timer;
    int epoll; /* what the caller waits on; the timer itself when there is nothing else */
    uint64_t start_ns;
    uint64_t (*own_cpu)(void); /* CPU time of this process, or of the thread that samples */
    uint64_t cpu_base_ns;      /* … before the tracker was made */
    uint64_t cpu_ns;           /* … and since, up to the last sample */
    uint64_t beside_cpu_ns;    /* … of it by further threads of ours */
    uint64_t tick_cost_ns;     /* of the tick before */
    uint64_t lateness_ns;
    uint64_t refreshed_ns; /* own memory was read */
    uint64_t rows_at_ns;   /* process rows were published */

    struct row self_row;
    struct entity self_entity;
    struct frame frame;

    struct sink **sinks; /* owned */
    size_t sink_count;
    struct summary summary;
    bool is_probe; /* takes single looks, on request */
    bool used;     /* a launch or a replay was tried: a tracker is for one */
    bool started;
    bool settled; /* the figures are final; the summary is being written */
    bool finished;
    atomic_bool is_hurried; /* outputs that send are not waited for any longer */
};

static inline struct process_source *source_of(struct member *m)
{
    return (struct process_source *)m->payload;
}

/* A child of the program that made it has no tracker, nor has who could not make one. */
static inline bool is_elsewhere(const struct toll_tracker *t)
{
    return !t || t->owner_pid != getpid();
}

/* The targets and, when there are several, their union. */
static inline size_t book_count(const struct toll_tracker *t)
{
    return t->target_count + (t->target_count > 1);
}

static inline bool is_launched(const struct toll_tracker *t)
{
    return t->whole && t->whole->is_launched;
}

/* The targets that count what a member does beside its figures in the books. */
static inline uint64_t member_targets(const struct toll_tracker *t, const struct member *m)
{
    bool child_left_out = t->run.no_children && !m->root_of &&
                          !(m->targets & t->discovery.rule_bits);
    return child_left_out ? 0 : m->targets;
}
