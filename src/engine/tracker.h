/* SPDX-License-Identifier: MIT
 * All that a tracker is. The way of one sample through it is tick.c. */
#pragma once

#include "account/ledger.h"
#include "account/quality.h"
#include "account/rates.h"
#include "base/clock.h"
#include "base/util.h"
#include "engine/background.h"
#include "engine/launch.h"
#include "engine/target/gpu_instances.h"
#include "sink/sink.h"
#include "source/collector.h"
#include "source/pid_files.h"
#include "source/proc/own.h"
#include "source/proc/task_records.h"
#include "source/proc/visit.h"
#include "summary/phases.h"
#include "summary/summary.h"
#include "toll.h"

#include <limits.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/un.h>

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

/* ==== Target ================================================================================== */

/* One target: who belongs to it, and its books. */

enum { TARGET_GPU_GAUGES = 3 };
enum { TARGETS_AT_MOST = 63 }; /* one bit each in the masks of members, and one for all together */

/* What went over the interfaces of a network namespace of its own. */
struct namespace_bytes {
    bool known;
    bool is_shared;  /* it is another namespace than ours, but others are in it too */
    bool is_partial; /* something went over other interfaces, or before it was found */
    int net_dev;     /* kept until the target ends, so that nothing is missed; -1: not open */
    uint64_t number; /* of the namespace */
    uint64_t members_at_ns; /* whether all members are in it is looked at then … */
    uint64_t others_at_ns;  /* … and whether others are */
    uint64_t received, sent;
    uint64_t read_received, read_sent; /* what the kernel said last */
};

struct target {
    enum toll_target_kind kind;
    bool is_launched; /* the command that toll started */
    bool is_union;    /* all others together */
    uint64_t bit;
    char *name;    /* owned */
    char *text;    /* owned: what was asked for, as it was written */
    pid_t id;      /* process, group or session */
    uid_t user;    /* of a user: it may be larger than a pid */
    regex_t regex; /* of a match */
    bool has_regex;
    struct cgroup *cgroup; /* owned, of a cgroup */
    struct map in_cgroup;  /* pids it had when last asked */

    int pidfd;      /* of the main process, or of any that is left; -1: none */
    pid_t watched;  /* whose it is */
    int main_pidfd; /* kept to the last: how it ended is told once somebody has reaped it; -1 */
    bool ended;
    uint64_t end_ns;
    struct toll_end end;

    struct namespace_bytes namespace;
    struct cgroup *inside;                  /* borrowed from the cgroups: where it is; or NULL */
    uint64_t cgroups_hash;                  /* of the cgroups it was in when last asked */
    const struct instance *cgroup_instance; /* its figures as last read, NULL: none */
    uint64_t cgroup_bits;                   /* metrics of the whole that the cgroup answers for */
    struct row of_cgroup;                   /* the whole as it was put last, with these */
    bool cgroup_has_ticks; /* it counts user and system time in ticks, which are not all CPU time */

    struct ledger ledger;
    struct rate rates[PARTS][RATES_PER_ENTITY];
    struct row parts[PARTS];
    struct entity entities[PARTS];
    uint64_t gpu_missing_ns[PARTS]
                           [TARGET_GPU_GAUGES]; /* how long what it has of GPUs was unknown */
    uint64_t most_slow_rss[PARTS]; /* the most memory of each part in any round of slow reads */
};

/* Children of members belong to it too. */
static inline bool target_is_tree(const struct target *t)
{
    return t->is_launched || t->kind == TOLL_TARGET_PROCESS || t->kind == TOLL_TARGET_MATCH;
}

/* There is one process whose descendants the others are. */
static inline bool target_has_main(const struct target *t)
{
    return t->is_launched || (t->kind == TOLL_TARGET_PROCESS && !t->is_union);
}

/* ==== Mark queue ============================================================================== */

/* Marks of the program itself on their way to the thread that measures. From any thread. */

enum { MARK_QUEUE_AT_MOST = 4096 };

struct mark_queue {
    pthread_mutex_t lock; /* of all below */
    char **texts;         /* owned ring of owned marks, see parse/mark_text.h */
    size_t first;
    size_t count;
    uint64_t lost; /* since it was last asked */
    bool closed;
};

void mark_queue_init(struct mark_queue *q);
void mark_queue_done(struct mark_queue *q);

/* Takes the text. 0; 1 when it is closed; -EAGAIN when it is full, which is counted; -ENOMEM. */
int mark_queue_put(struct mark_queue *q, char *text);

/* The oldest, which the caller frees, or NULL; adds what was lost. */
char *mark_queue_take(struct mark_queue *q, uint64_t *lost);

/* Nobody will take any more. */
void mark_queue_close(struct mark_queue *q);

/* ==== Environment ============================================================================= */

/* What a command finds in its environment beside what toll itself has. */

/* "NAME=value" strings, each of which replaces one that is there. */
struct environment {
    char **more; /* owned strings */
    size_t count;
};

/* Copies. 0 or -ENOMEM. */
int environment_add(struct environment *e, const char *variable);

/* The whole of it, in an array that is the caller's; its strings are borrowed. NULL without memory.
 */
char **environment_make(const struct environment *e);

void environment_done(struct environment *e);

/* ==== Mark socket ============================================================================= */

/* Where the marks of a command arrive: a socket in a directory that only the user can enter. */

/* The variable that tells a command where to send its marks. */
#define MARK_SOCKET_VARIABLE "TOLL_SOCKET"

struct mark_socket {
    int fd; /* -1: not there */
    pid_t owner;
    char directory[sizeof((struct sockaddr_un *)0)->sun_path];
    struct sockaddr_un address;
};

/* 0 or -errno; then nothing is left behind. */
int mark_socket_open(struct mark_socket *s);

/* Removes it with its directory, and some that a toll which was killed left beside it. Accepts one
 * that is not there; in a forked child nothing is removed. */
void mark_socket_close(struct mark_socket *s);

/* The variable, for a command. 0 or -ENOMEM. */
int mark_socket_tell(const struct mark_socket *s, struct environment *e);

/* One mark: its length and whose it is. -EAGAIN when there is none; -EPERM for one of another user,
 * -EMSGSIZE for one that is too long. */
ssize_t mark_socket_receive(const struct mark_socket *s, char *text, size_t capacity,
                            pid_t *ret_sender);

/* ==== Backup ================================================================================== */

/* A file with the results so far, for the case that a run does not get to its end: a Python pickle
 * that makes the data classes of gpu_tracker. It is there from the beginning of the run on, follows
 * the samples at most once a second, and is removed when the run is finished. */

struct backup {
    char *path;   /* owned, absolute: the program may change its directory. NULL: there is none */
    char *layout; /* owned */
    uint64_t due_ns; /* on the clock of the frames */
    bool is_written, has_failed;
};

/* What it is to hold and where; 0, or -errno and a sentence. */
int backup_set(struct toll_tracker *t, const char *path, const char *layout, struct toll_error *e);

/* At the beginning, and with every sample: writes it when it is time. */
void backup_write(struct toll_tracker *t);

/* The run is finished, and its results are elsewhere. */
void backup_remove(struct toll_tracker *t);
void backup_done(struct toll_tracker *t);

/* ==== Tracker ================================================================================= */

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
    struct instance system;
    struct collect_context context;
    void *states[COLLECTORS_AT_MOST]; /* of collectors[], NULL: not open */
    bool is_open[COLLECTORS_AT_MOST];
    uint64_t next_ns[COLLECTORS_AT_MOST];
    struct instance_list list; /* of this tick */
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

struct cgroups {
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
    struct cgroups cgroups;
    struct gpus gpus;
    struct {
        struct sockets *sockets; /* owned, NULL: not to be had */
        uint64_t next_ns;
    } network;

    struct {
        bool term_sent; /* SIGTERM */
        bool killed;    /* SIGKILL was sent */
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
