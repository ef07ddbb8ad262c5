/* SPDX-License-Identifier: MIT
 * What is tracked: the targets, the processes that belong to them, and how those are found, read
 * and reaped. The files of engine/target/ work on this; it knows no outputs, marks or schedule. */
#pragma once

#include "account/ledger.h"
#include "account/members.h"
#include "base/clock.h"
#include "base/io/file.h"
#include "base/util.h"
#include "engine/launch.h"
#include "engine/outputs.h"
#include "source/bpf/members.h"
#include "source/bpf/traffic.h"
#include "source/pid_files.h"
#include "source/proc/own.h"
#include "source/proc/reader.h"
#include "summary/summary.h"
#include "toll.h"

#include <regex.h>
#include <sys/resource.h>

/* ==== Changes ================================================================================= */

/* Which members have run since the last look, of a command with a cgroup of its own: one pass of a
 * program in the kernel instead of a call for each process. It finds them; their figures are read
 * as always. Between two samples that have all, the others are not looked at.
 * A task that is not on a CPU has its whole CPU time in the kernel's sum, and one that is on a CPU
 * counts as having run: nothing is missed. */

struct changes {
    struct bpf_members *source; /* owned; NULL: not open */
    struct member_task *before; /* owned: the tasks at the last reading */
    size_t before_count, before_capacity;
    pid_t *moved; /* owned: processes that may have run since the reading before */
    size_t moved_count, moved_capacity;
    bool is_settled; /* they are the members, no more and no fewer */
    bool was_tried;
};

/* cgroup: a descriptor of its directory. Where it is not possible, all members are asked as ever.
 */
void changes_open(struct changes *c, int cgroup);
void changes_close(struct changes *c);

struct cgroup;
struct gpus;
struct process_ends;
struct threads;

/* ==== Target ================================================================================== */

enum { TARGET_GPU_GAUGES = 3 };
enum { TARGETS_AT_MOST = 63 }; /* one bit each in the masks of members, and one for the union */

/* Bytes that went over the interfaces of a network namespace that only the target is in. */
struct namespace_bytes {
    bool known;
    bool is_shared;  /* it is not ours, but processes outside of the target are in it too */
    bool is_partial; /* some went over other interfaces, or before the namespace was found */
    int net_dev;     /* kept open until the target ends, so that nothing is missed; -1: closed */
    uint64_t number; /* of the namespace */
    uint64_t members_at_ns; /* when to check that all members are in it */
    uint64_t others_at_ns;  /* when to check whether other processes are in it */
    uint64_t received, sent;
    uint64_t read_received, read_sent; /* the kernel's counters as last read */
};

/* What the sockets of a cgroup that is the target's own carry. */
struct cgroup_traffic {
    struct traffic counter;
    struct traffic_counts counts; /* as last read */
    uint64_t cgroup;              /* its number */
    bool is_on;
    bool is_partial; /* some socket was not created in the cgroup, or still sends at the end */
};

/* A target in its cgroups. */
struct target_cgroup {
    struct cgroup *inside;           /* borrowed: the cgroup that it is in, or NULL */
    uint64_t hash;                   /* of the text of /proc/PID/cgroup as last read */
    const struct instance *instance; /* a target that is a cgroup: its figures; NULL: none yet */
    uint64_t bits;                   /* metrics of the whole that the cgroup has answered for */
    bool has_ticks; /* user and system time only divide its CPU time, of a command's own cgroup */
    uint64_t continued_ns; /* when its main process was last seen to continue after an OOM kill */
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
    pid_t watched;  /* the pid of that process */
    int main_pidfd; /* kept to the last: it has the exit status once the process is reaped; -1 */
    bool ended;
    uint64_t end_ns;
    struct toll_end end;

    struct namespace_bytes namespace;
    struct cgroup_traffic traffic;
    struct target_cgroup in;

    struct ledger ledger;
    struct rate rates[PARTS][RATES_PER_ENTITY];
    struct row parts[PARTS]; /* as folded, for the summary */
    struct row shown[PARTS]; /* as published, where samples differ from the summary */
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

/* It has one main process, and the others are its descendants. */
static inline bool target_has_main(const struct target *t)
{
    return t->is_launched || (t->kind == TOLL_TARGET_PROCESS && !t->is_union);
}

/* ==== Discovery =============================================================================== */

/* How new members are found. */
struct discovery {
    pid_t tracker_pid;             /* orphans come to it */
    struct process_source tracker; /* for its children file */
    int loadavg;                   /* kept descriptor, -1 when not open */
    bool hidden_noted;             /* a note was given about a process that /proc hides */
    uint64_t last_pid;             /* handed out by the kernel when last asked */
    uint64_t recent_pid;           /* handed out at recent_ns; 0: not known */
    uint64_t recent_ns;
    uint64_t older_pid;          /* handed out a while before; 0: not known */
    uint32_t reviews;            /* of processes that belong to no target */
    uint64_t scan_after_ns;      /* when to list all processes of the machine again */
    struct map outsiders;        /* pids seen in a scan that do not belong to a target */
    struct map judged_before;    /* the same of the scan before this one */
    struct map strangers;        /* children of this process that are not the job's */
    uint64_t all_after_ns;       /* when to ask every process again */
    const struct member *parent; /* its children are being met; NULL: the tracker's */
    uint64_t tree_bits;          /* targets that children of members belong to */
    uint64_t rule_bits;          /* targets that a process belongs to by a rule */
    bool by_scan;                /* some target needs a look at every process of the machine */
    bool overlap;                /* some process belonged to two targets at once */
    bool by_match;               /* some target goes by the command line */
    uint64_t start_ticks;        /* when tracking began, in the unit of a process's start */
    uint64_t walked_ticks;       /* start of the last walk, in the same unit */
    uint64_t walked_ns;          /* start of the last walk, by the clock of samples */
    uint64_t bookings;           /* how often members that left were booked */
    uint64_t first_booking;      /* the first booking after baselines were read again; or 0 */
    bool attaching;              /* the first walk: what is there was there before */
    bool somebody_waits;         /* a process is to be asked for its children later */
    bool with_tracker;           /* the process that measures may belong to a target */
    uint64_t apart_ns; /* CPU time since the last sample of reads that do not come again with every
                        * sample, such as the first of a process */
    uint64_t still_ns; /* CPU time in the whole run of reading processes that sleep */
    int unread;        /* why a process that was met could not be read; 0: none */
};

/* ==== Reaper ================================================================================== */

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
    uint64_t main_end_ns; /* when the main process was reaped */
    uint64_t last_end_ns; /* when the last process was reaped */
    /* Further threads of the tracker: what they read and write is not the job's. Returns how many
     * there are, which may be more than fit into ret. */
    size_t (*list_threads)(const void *arg, pid_t ret[OWN_THREADS_AT_MOST]);
    const void *list_threads_arg;
};

/* ==== Tracked ================================================================================= */

/* How the budget is divided. With the interval `auto`, samples are as far apart as their part asks
 * for. Processes that sleep are read again within theirs. Reads of PSS have what those leave, and
 * at least the last part. The first reading of each process is in none: it comes once. */
#define BUDGET_SAMPLES    (5.0 / 8)
#define BUDGET_STILL      (2.0 / 8)
#define BUDGET_SLOW_LEAST (1.0 / 8)
#define BUDGET_SLOW_MOST  (4.0 / 8)

struct tracked {
    const struct toll_options *options; /* borrowed */
    const struct gpus *gpus;            /* borrowed: its helper processes are strangers */
    struct threads *threads;            /* borrowed: the threads of members; NULL: not asked for */
    struct process_ends *ends;          /* borrowed: records of ends; NULL: there are none */
    struct sysroot root;
    struct clock *scripted; /* NULL: the machine's own clocks */
    bool is_recorded;       /* a replay: files were copied one after the other */
    bool is_probe;          /* single looks, on request */
    bool is_last;           /* the last sample is being taken */
    bool may_be_brief;      /* stat and io of processes that run need not be read in this walk */
    bool is_behind;         /* in the last walk some were not read of a process that has run */
    uint64_t start_ns;
    double budget; /* share of one core, for all that is measured: see BUDGET_ */

    struct target *targets; /* owned; the union of several comes after them */
    size_t target_count;
    struct target *whole; /* all of them: the only one, or the union; NULL: there is none */
    struct frame_target *frame_targets; /* owned, one for each of several */

    struct launched launched;
    struct reaper reaper;
    struct discovery discovery;
    struct process_reader reader;
    struct members members; /* payload: struct process_source */
    struct changes changes;
    bool members_changed; /* since they were last summed up */
    bool any_departed;    /* a member is marked as gone, and may not be booked or swept out yet */
    bool asks_memory;     /* it has to be found out which members share their memory */
    bool io_denial_noted; /* that the I/O of a member may not be read */
    bool has_run;         /* a process has run, come or left since a round of slow reads began */
    struct events events;
};

static inline struct process_source *source_of(struct member *m)
{
    return (struct process_source *)m->payload;
}

/* The targets and, when there are several, their union. */
static inline size_t book_count(const struct tracked *t)
{
    return t->target_count + (t->target_count > 1);
}

static inline bool is_launched(const struct tracked *t)
{
    return t->whole && t->whole->is_launched;
}

/* The targets that count what a member does beside its figures in the ledgers. */
static inline uint64_t member_targets(const struct tracked *t, const struct member *m)
{
    bool child_left_out = t->options->no_children && !m->root_of &&
                          !(m->targets & t->discovery.rule_bits);
    return child_left_out ? 0 : m->targets;
}

/* Something is not as it should be: once to the caller and the record, again in the summary. */
void tracked_note(struct tracked *t, const char *format, ...) PRINTF_LIKE(2, 3);
