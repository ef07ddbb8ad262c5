/* SPDX-License-Identifier: MIT
 * GPUs as things of the machine, and what processes have used of them. */
#pragma once

#include "base/io/file.h"
#include "engine/target/gpu_choice.h"
#include "summary/summary.h"

/* A GPU: it stays where it is in memory until the end of the run. */
struct gpu_instance {
    struct instance instance;
    struct gpu_facts facts; /* labels point into it */
    char index[16];
    bool is_chosen;
    bool is_counted;                  /* its utilisation is in the sum over all */
    uint64_t read_ns;                 /* when it was last, as its frame says */
    uint64_t answered_ns;             /* … and when it last was not lost; 0: never */
    uint64_t holds_ns;                /* the time after a reading for which its figures stand */
    uint64_t known;                   /* bits of the figures that were known then */
    uint64_t missing_ns[GPU_METRICS]; /* how long each figure was not known before that */
    uint64_t watched_ns, idle_ns;
    bool is_watched;                       /* its utilisation was known at least once */
    uint64_t energy_uj;                    /* the driver's counter, as last read … */
    uint64_t energy_more_uj;               /* … and what it had counted before it began anew */
    uint64_t energy_from_ns, energy_to_ns; /* when it was first and last read; 0: never */
    bool energy_was_reset; /* what it counted between the last reading and its end is lost */
};

struct gpu_instances {
    struct gpu_instance **items; /* owned, by the place of the device in a frame */
    size_t count;
};

/* Engine time of one process on one device. */
struct gpu_use {
    pid_t pid;
    unsigned device;
    bool is_there;      /* in the frame that was last looked at */
    uint64_t last_ns;   /* what the driver said */
    uint64_t total_ns;  /* what counts */
    uint64_t looked_ns; /* when the device was read last */
    double share;       /* of the time between the last two readings; negative: not known */
};

struct gpu_uses {
    struct gpu_use *items; /* owned */
    size_t count, capacity;
};

struct gpu_readers;

/* All that a tracker has to do with GPUs. */
struct gpus {
    struct gpu_choice choice;
    struct gpu_choice counted;      /* of these, whose utilisation is added up; "all" at first */
    struct gpu_readers *readers;    /* owned, NULL: GPUs are not read */
    struct open_files files_before; /* … of this program, before it began */
    struct gpu_frame frame;         /* the newest */
    struct gpu_instances instances;
    struct gpu_uses uses;
    bool is_unseen; /* the frame came before the first tick */
    bool is_new;    /* … or with this one */
    bool is_fresh;  /* all that were chosen are in it, none older than what a driver says anyway */
    bool is_known;  /* whose processes they are: what members have is in their rows */
    bool none_told, scope_told;
    uint64_t utilization_missing_ns; /* how long the sums over all GPUs were not known … */
    uint64_t memory_missing_ns;      /* … of utilisation and of memory */
    pid_t *pids;                     /* owned, of members */
    size_t pid_capacity;
};

/* A place for each device of the frame. What there is no memory for is left out. */
void gpu_instances_meet(struct gpu_instances *t, const struct gpu_frame *f,
                        const struct gpu_choice *c, const struct gpu_choice *counted);

/* The frame's figures into the things that were chosen; those that were read anew go into the list.
 * They stand for the time since they were last read, or since start_ns; for no longer than most_ns,
 * or than they rest. */
void gpu_instances_put(struct gpu_instances *t, const struct gpu_frame *f, uint64_t start_ns,
                       uint64_t most_ns, struct instance_list *list);

/* How much of the run the figures of the things in the summary cover. */
void gpu_instances_judge(const struct gpu_instances *t, struct summary *s, uint64_t start_ns,
                         uint64_t end_ns);

/* Whether a figure that was not known for so long still is one of the whole run. A process needs a
 * quarter of a second to open a GPU, for which a driver may take to begin; apart from that, a
 * hundredth of the run may be missing. */
static inline bool gpu_instances_is_partial(uint64_t missing_ns, uint64_t elapsed_ns)
{
    return missing_ns > min_u64(250 * NS_PER_MS, elapsed_ns / 10) + elapsed_ns / 100;
}

/* Whether no figures of those that were chosen are older than that, than they rest, and than twice
 * the time that a look takes. */
bool gpu_instances_are_fresh(const struct gpu_instances *t, const struct gpu_frame *f,
                             uint64_t now_ns, uint64_t holds_ns);

/* The frame's figures of those that were chosen, added up, into the row of the machine. A sum that
 * leaves one out is none. */
void gpu_instances_sum(const struct gpu_instances *t, const struct gpu_frame *f,
                       struct row *system);

/* Whether somebody uses one that was chosen, and it cannot be told who. */
bool gpu_instances_are_unclear(const struct gpu_instances *t, const struct gpu_frame *f);
void gpu_instances_done(struct gpu_instances *t);

static inline bool gpu_instances_chosen(const struct gpu_instances *t, unsigned device)
{
    return device < t->count && t->items[device] && t->items[device]->is_chosen;
}

/* A look at a frame begins, and ends: who was not in it has left the device. */
void gpu_uses_begin(struct gpu_uses *u);
void gpu_uses_end(struct gpu_uses *u, const struct gpu_frame *f);

/* That process as the frame has it, which was read then. from_birth: what it used before counts.
 * NULL without memory. */
const struct gpu_use *gpu_uses_look(struct gpu_uses *u, const struct gpu_process *p,
                                    bool from_birth, uint64_t read_ns);

/* It is there, and its counter cannot be told this time. Whether it was told before. */
bool gpu_uses_keep(struct gpu_uses *u, const struct gpu_process *p);
void gpu_uses_done(struct gpu_uses *u);
