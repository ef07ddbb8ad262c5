/* SPDX-License-Identifier: MIT
 * GPUs as instances of the machine's devices, and what processes have used of them. */
#pragma once

#include "base/io/file.h"
#include "base/text/buf.h"
#include "source/gpu/vendor.h"
#include "summary/summary.h"

/* ==== Choice ================================================================================== */

/* Which GPUs are read: all, none, those that the environment leaves visible, or named ones. */

struct gpu_choice {
    enum { GPUS_VISIBLE, GPUS_ALL, GPUS_NONE, GPUS_NAMED } kind;
    bool is_asked; /* the user asked for GPUs: report it when there are none */
    char *names;   /* owned, comma-separated; of GPUS_NAMED */

    /* Of GPUS_VISIBLE: values of the environment, owned, or NULL. The first four count the GPUs
     * that a runtime sees, the last two those of the whole machine. */
    char *cuda;           /* CUDA_VISIBLE_DEVICES */
    char *rocr;           /* ROCR_VISIBLE_DEVICES */
    char *hip;            /* HIP_VISIBLE_DEVICES */
    char *ze;             /* ZE_AFFINITY_MASK */
    char *nvidia_of_host; /* NVIDIA_VISIBLE_DEVICES */
    char *slurm;          /* SLURM_JOB_GPUS */
};

/* Reads the environment where it is needed. text NULL: those that are visible, and the user did not
 * ask for them. 0; -EINVAL and a message, or -ENOMEM. */
int gpu_choice_parse(struct gpu_choice *ret, const char *text, struct toll_error *e);
void gpu_choice_done(struct gpu_choice *c);

/* Whether f is chosen. All devices are needed for that: a list may count them, or count those of
 * the whole machine where only some are here. */
bool gpu_choice_has(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                    const struct gpu_facts *f);

/* Checks that every name is that of a device. -EINVAL and a message that lists them when not. */
int gpu_choice_check(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                     struct toll_error *e);

/* Whether a device that is not among these may be chosen as well. */
bool gpu_choice_awaits(const struct gpu_choice *c, const struct gpu_device *devices, size_t count);

/* A GPU: it stays where it is in memory until the end of the run. */
struct gpu_instance {
    struct instance instance;
    struct gpu_facts facts; /* labels point into it */
    char index[16];
    bool is_chosen;
    bool is_counted;                  /* its utilisation is in the sum over all */
    bool is_unclear;                  /* it was used by a process that is not known */
    uint64_t read_ns;                 /* of the last frame */
    uint64_t answered_ns;             /* read_ns of the last frame in which it was not lost, or 0 */
    uint64_t holds_ns;                /* how long its figures hold after a reading */
    uint64_t known;                   /* bits of the figures of the last reading */
    uint64_t missing_ns[GPU_METRICS]; /* how long each figure was not known until then */
    uint64_t watched_ns, idle_ns;
    bool is_watched;                       /* its utilisation was known at least once */
    uint64_t energy_uj;                    /* the driver's counter, as last read */
    uint64_t energy_more_uj;               /* what the driver had counted before it began anew */
    uint64_t energy_from_ns, energy_to_ns; /* when it was first and last read; 0: never */
    bool energy_was_reset; /* what it counted between the last reading and its end is lost */
};

struct gpu_instances {
    struct gpu_instance **items; /* owned, by the index of the device in a frame */
    size_t count;
};

/* Engine time of one process on one device. */
struct gpu_use {
    pid_t pid;
    unsigned device;
    bool is_there;      /* in the last frame */
    uint64_t last_ns;   /* the driver's counter */
    uint64_t total_ns;  /* since the process belongs to a target */
    uint64_t looked_ns; /* when the device was read last */
    double share;       /* of the time between the last two readings; negative: not known */
};

struct gpu_uses {
    struct gpu_use *items; /* owned */
    size_t count, capacity;
};

/* Adds an instance for each device of the frame that is new. Those without memory are left out. */
void gpu_instances_meet(struct gpu_instances *t, const struct gpu_frame *f,
                        const struct gpu_choice *c, const struct gpu_choice *counted);

/* Copies the frame's figures into the instances that are chosen, and adds those that were read
 * since to the list. Figures cover the time since the reading before, or since start_ns; no longer
 * than most_ns, or than the driver rests between two looks. */
void gpu_instances_put(struct gpu_instances *t, const struct gpu_frame *f, uint64_t start_ns,
                       uint64_t most_ns, struct instance_list *list);

/* Fills in how much of the run the figures of GPUs in the summary cover. */
void gpu_instances_judge(const struct gpu_instances *t, struct summary *s, uint64_t start_ns,
                         uint64_t end_ns);

/* Whether a figure that was not known for that long covers only a part of the run. A quarter of a
 * second may be missing, in which a driver begins and no process can have opened a GPU, and a
 * hundredth of the run. */
static inline bool gpu_instances_is_partial(uint64_t missing_ns, uint64_t elapsed_ns)
{
    return missing_ns > min_u64(250 * NS_PER_MS, elapsed_ns / 10) + elapsed_ns / 100;
}

/* Whether the figures of all chosen GPUs are younger than holds_ns plus the rest between two looks
 * and twice the time of a look. */
bool gpu_instances_are_fresh(const struct gpu_instances *t, const struct gpu_frame *f,
                             uint64_t now_ns, uint64_t holds_ns);

/* Adds up the frame's figures of chosen GPUs into the row of the machine. A sum without one of them
 * is unknown. */
void gpu_instances_sum(const struct gpu_instances *t, const struct gpu_frame *f,
                       struct row *system);

/* Whether a chosen GPU is used by a process that is not known. */
bool gpu_instances_are_unclear(const struct gpu_instances *t, const struct gpu_frame *f);
void gpu_instances_done(struct gpu_instances *t);

static inline bool gpu_instances_chosen(const struct gpu_instances *t, unsigned device)
{
    return device < t->count && t->items[device] && t->items[device]->is_chosen;
}

/* Around the processes of a frame. A process that is not in it has left the device. */
void gpu_uses_begin(struct gpu_uses *u);
void gpu_uses_end(struct gpu_uses *u, const struct gpu_frame *f);

/* Counts what the process has used according to a frame read at read_ns. from_birth: what it used
 * before it was first seen counts. NULL without memory. */
const struct gpu_use *gpu_uses_look(struct gpu_uses *u, const struct gpu_process *p,
                                    bool from_birth, uint64_t read_ns);

/* The process is in the frame without its counter. Returns whether the counter was known before. */
bool gpu_uses_keep(struct gpu_uses *u, const struct gpu_process *p);
void gpu_uses_done(struct gpu_uses *u);
