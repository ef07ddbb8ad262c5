/* SPDX-License-Identifier: MIT
 * A row is one entity's values with a bit for each that says whether it is known; a frame is all
 * rows of one tick. */
#pragma once

#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/scan.h"
#include "metric/metric.h"
#include "toll.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ==== Frame =================================================================================== */

struct row {
    uint64_t present;  /* bit i: values[i] is known */
    uint64_t at_least; /* bit i: values[i] is a lower bound, since a process that has some of it
                        * could not be read. Bit i of present is not set then. Only published rows
                        * have such bits */
    enum metric_id first;
    union value values[SYSTEM_METRICS];
};

void row_init(struct row *r, enum entity_kind kind);

static inline bool row_has(const struct row *r, enum metric_id id)
{
    return r->present >> (id - r->first) & 1;
}

static inline void row_put_u64(struct row *r, enum metric_id id, uint64_t value)
{
    r->values[id - r->first].u = value;
    r->present |= BIT(id - r->first);
}

static inline void row_put_double(struct row *r, enum metric_id id, double value)
{
    r->values[id - r->first].d = value;
    r->present |= BIT(id - r->first);
}

/* Puts a counter or a high-water mark, which never falls: the highest value so far stays, also when
 * the figure was unknown in between. Returns it. The row must have been zeroed at first. */
static inline uint64_t row_hold_u64(struct row *r, enum metric_id id, uint64_t value)
{
    uint64_t held = max_u64(value, r->values[id - r->first].u);
    row_put_u64(r, id, held);
    return held;
}

static inline void row_unknown(struct row *r, enum metric_id id)
{
    r->present &= ~BIT(id - r->first);
    r->at_least &= ~BIT(id - r->first);
}

/* The bits of all that has a value: known, or a lower bound. */
static inline uint64_t row_seen(const struct row *r)
{
    return r->present | r->at_least;
}

/* Makes lower bounds of the known figures of the mask. */
static inline void row_bound(struct row *r, uint64_t mask)
{
    r->at_least |= r->present & mask;
    r->present &= ~mask;
}

/* 0 when unknown: for sums, never for output. */
static inline uint64_t row_u64(const struct row *r, enum metric_id id)
{
    return row_has(r, id) ? r->values[id - r->first].u : 0;
}

static inline union value row_value(const struct row *r, enum metric_id id)
{
    return r->values[id - r->first];
}

/* sum += r, for the metrics of the mask that r knows; rows of processes. */
void row_add(struct row *sum, const struct row *r, uint64_t mask);

enum { RATES_PER_ENTITY = 2 };

/* Where the last rate was measured from. */
struct rate {
    uint64_t value;
    uint64_t at_ns;
    bool known;
};

/* A device of the machine with its figures: a disk, a CPU, the machine as a whole. Collectors own
 * instances and write what the kernel says into `read`; the accounts make `row` of it, which counts
 * from the start of the run and has the rates. An instance stays at its place in memory until its
 * collector is closed, also when the device itself is gone. */
struct instance {
    struct entity entity;
    struct row read;
    struct row row;
    struct row base;    /* what counters had when they were first read */
    unsigned number;    /* from 1 in order of appearance; 0: not published yet */
    bool is_new;        /* came after the start: its counters count from zero */
    uint64_t unlimited; /* bits of limits, as in present: it was read that there is no limit */
    struct rate rates[RATES_PER_ENTITY];
};

void instance_init(struct instance *m, enum entity_kind kind);

/* What the collectors read in one tick. */
struct instance_list {
    struct instance **items; /* owned array of borrowed instances */
    size_t count;
    size_t capacity;
};

/* 0 or -ENOMEM. */
int instance_list_add(struct instance_list *l, struct instance *m);
void instance_list_done(struct instance_list *l);

struct frame_row {
    const struct entity *entity; /* borrowed until the next tick */
    const struct row *row;       /* borrowed until the next tick */
};

/* One of several targets. */
struct frame_target {
    const char *name;
    bool has_ended;
    struct frame_row parts[PARTS]; /* row NULL: this part does not exist */
};

struct frame {
    uint64_t tick;    /* counts from 0 */
    uint64_t mono_ns; /* when it was taken */
    uint64_t real_ns;
    uint64_t elapsed_ns;  /* since the start of the run */
    uint64_t interval_ns; /* since the frame before, really */
    bool last;
    bool between;  /* taken because of a mark, not by the schedule */
    bool is_brief; /* of processes that run, what costs OFTEN is that of an earlier sample */
    struct frame_row target[PARTS]; /* all targets together; row NULL: this part does not exist */
    const struct frame_target *targets; /* each of several, borrowed until the next tick */
    size_t target_count;                /* 0 when there is only one */
    struct instance *const *machine;    /* figures of the machine, borrowed until the next tick */
    size_t machine_count;
    struct frame_row self;
    struct frame_row *processes; /* from the arena; those the plan asked for */
    size_t process_count;
    struct arena arena; /* emptied each tick */
};

void frame_begin(struct frame *f);
void frame_done(struct frame *f);

/* ==== Inherited =============================================================================== */

/* What a process inherited from children it reaped: the conserved metrics alone, a quarter of a
 * row. There is one for each process. */

enum { INHERITED_METRICS = 12 }; /* those with the fold CONSERVED */

struct inherited {
    uint64_t present; /* bits as in the row of a process */
    uint64_t values[INHERITED_METRICS];
};

/* id is a conserved metric of a process. */
void inherited_put(struct inherited *i, enum metric_id id, uint64_t value);

/* 0 when unknown. */
uint64_t inherited_u64(const struct inherited *i, enum metric_id id);

static inline bool inherited_has(const struct inherited *i, enum metric_id id)
{
    return i->present >> id & 1;
}

/* sum += i, a row of a process. */
void inherited_add(struct row *sum, const struct inherited *i);

/* ==== Process ================================================================================= */

/* What is known of one process: collectors fill it in, the accounts read it. */

/* Times that the kernel cuts to ticks, in nanoseconds. */
struct tick_times {
    uint64_t user, system;
    uint64_t children_user, children_system; /* of those that were reaped */
};

struct process {
    struct entity entity;
    struct row own; /* the process itself; I/O with what it reaped, where the kernel mixes it */
    struct inherited inherited; /* from children it reaped, where the kernel keeps that apart */
    uint64_t denied;            /* bits of own that permissions hide */
    uint64_t denied_at_end;     /* bits of denied that could be read while the process lived */
    uint64_t fresh;             /* bits of own that were read at the last visit */
    char *command; /* owned by the holder of the process: its command line, secrets masked; NULL:
                    * not read */
    pid_t group, session;    /* as of the last look */
    char state;              /* as in /proc/PID/stat; 0 = not read yet */
    bool has_ended;          /* a zombie, or it is exiting and has no memory any more */
    bool of_kernel;          /* a thread of the kernel, which has no memory */
    bool is_being_reaped;    /* its parent may have its figures already, or not yet */
    bool ignores_sigchld;    /* its children vanish without being counted anywhere */
    unsigned pid_namespaces; /* in which it has a pid, from the one of this /proc; 0: not known */
    bool is_namespace_init;  /* of a pid namespace: its processes end with it, uncounted */
    bool before_exec;        /* it has not called exec since the fork: it may share its memory */
    uint64_t start_stack;    /* where the stack of its program begins, 0: unknown */
    unsigned execs; /* how often it was seen to have called exec, which replaces its memory */
    bool is_hidden; /* it lives, and /proc does not show it to this user (hidepid) */
    bool splits_io; /* keep its own I/O apart from what it reaped: one more file */
    struct tick_times baseline; /* of a process from before the run: no CPU time is below these */
    uint64_t first_seen_ns;
    uint64_t looked_at_ns; /* when it was looked at for all that a process that sleeps can change */
    uint64_t worked_ns;    /* when stat and io were read last */
    uint64_t refreshed_ns; /* when all files were read last */
};

/* The figures of a process as they are published: counters that permissions hide by now are those
 * of the last reading, a lower bound. Such a row is made in *copy. */
static inline const struct row *process_shown(const struct process *p, struct row *copy)
{
    if (!(p->denied & p->own.present))
        return &p->own;
    *copy = p->own;
    row_bound(copy, p->denied);
    return copy;
}

/* How a process left the target. */
enum departure { LEFT_REAPED, LEFT_INSIDE, LEFT_LOST, LEFT_UNSEEN, DEPARTURES };

struct process_end {
    const struct process *process; /* borrowed */
    enum departure how;
    bool has_status; /* the tracker reaped it, or the kernel has recorded it: `end` is known */
    struct toll_end end;
    uint64_t elapsed_ns;
    const char *command; /* borrowed, of the process; NULL: not read */
    bool is_recorded;    /* its counters are those of its end, and nothing is missing */
    uint64_t threads;    /* that ended in it; 0: not recorded */
    uint64_t count;      /* of processes that are one line, with sums; 0: this one alone */
};

/* ==== Limits ================================================================================== */

/* What a process may use, and what sets the limit. */

enum limit_kind {
    LIMIT_CPUS, /* in cores: the only one that is no whole number */
    LIMIT_MEMORY_BYTES,
    LIMIT_SWAP_BYTES,
    LIMIT_TASKS,
    LIMIT_OPEN_FILES,
    LIMIT_PROCESSES, /* of the same user */
    LIMIT_ADDRESS_BYTES,
    LIMIT_CPU_SECONDS,
    LIMIT_FILE_BYTES,
    LIMIT_CORE_BYTES,
    LIMIT_LOCKED_BYTES,
    LIMITS,
};

struct limit {
    bool known;
    bool unlimited; /* it is known that there is no limit; the rest is 0 */
    uint64_t value;
    double cores;   /* of LIMIT_CPUS instead of the value */
    const char *by; /* "machine", "affinity", "cpuset", "cpu quota", "memory limit", "swap limit",
                       "task limit", "resource limit" */
    char *cgroup;   /* owned: the path of the cgroup that set it; NULL when it was none */

    bool has_used;      /* it is known how much of it was used at most */
    bool used_is_least; /* `used` is a lower bound of that */
    double used;        /* in the unit of the limit */
    const char *whose;  /* what used it: "cgroup", "target" or "main process" */
    const char
        *reached; /* proof that it was reached: "OOM killer", "SIGXFSZ"; NULL: there is none */
    uint64_t reached_times; /* 0: not counted */
};

struct limits {
    struct limit of[LIMITS];
};

/* ==== Marks =================================================================================== */

/* A mark as it is sent over the socket: words separated by single blanks. Blanks, percent signs and
 * control characters inside a word are written as %XX.
 *   phase begin NAME [KEY=VALUE…]
 *   phase end NAME
 *   event NAME [KEY=VALUE…]
 *   gauge NAME VALUE
 * Words that begin with @ are about the mark itself: @pid=123 is the process it belongs to,
 * @time=NS its time on the monotonic clock, @lost=N how many could not be sent before it. Other
 * names are for later versions. */

enum { MARK_NAME_BYTES = 128, MARK_TEXT_BYTES = 4096 };

enum mark_kind { MARK_PHASE_BEGIN, MARK_PHASE_END, MARK_EVENT, MARK_GAUGE, MARK_KINDS };

struct mark_text {
    enum mark_kind kind;
    char name[MARK_NAME_BYTES + 1];
    double value;           /* of a gauge */
    pid_t pid;              /* 0: the sender's */
    pid_t sender;           /* set by the receiver; 0: unknown */
    uint64_t time_ns;       /* 0: unknown */
    uint64_t lost;          /* before this one */
    struct scan attributes; /* a window on the text, for mark_text_attribute */
};

/* 0, or -EBADMSG. The text may end with a newline. */
int parse_mark_text(struct scan text, struct mark_text *ret);

/* The next KEY=VALUE, decoded and terminated; *ret_value points to the value in it. Of several with
 * the same key only the last is returned. False when none is left; what does not fit is cut. */
bool mark_text_attribute(struct scan *attributes, char *ret, size_t capacity,
                         const char **ret_value);

/* 1 to 128 bytes of UTF-8 without control characters. */
bool mark_text_is_name(const char *name);

/* Whether it is KEY=VALUE with a key that is not empty. */
bool mark_text_is_attribute(const char *text);

/* Write the words of a mark, in this order. */
void mark_text_begin(struct buf *b, enum mark_kind kind, const char *name);
void mark_text_add(struct buf *b, const char *attribute);
void mark_text_add_value(struct buf *b, double value);
void mark_text_add_number(struct buf *b, const char *key, uint64_t number); /* @KEY=NUMBER */
