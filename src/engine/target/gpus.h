/* SPDX-License-Identifier: MIT
 * The GPUs of a run: the devices that were chosen, and what members have of them. */
#pragma once

#include "engine/target/gpu_instances.h"
#include "engine/target/tracked.h"
#include "source/gpu/readers.h"

/* Members are for gpus.c and its tests. */
struct gpus {
    struct gpu_choice choice;
    struct gpu_choice counted;      /* the GPUs whose utilisation is added up; "all" at first */
    struct gpu_readers *readers;    /* owned, NULL: GPUs are not read */
    struct open_files files_before; /* descriptors of this program before the readers began */
    struct gpu_frame frame;         /* the newest */
    struct gpu_instances instances;
    struct gpu_uses uses;
    bool is_unseen; /* the frame came before the first tick */
    bool is_new;    /* the frame came with this tick */
    bool is_fresh;  /* the figures of all chosen GPUs are in the frame and not too old */
    bool is_known;  /* the frame's processes are known: members' rows have what they use */
    bool none_said, scope_said;
    uint64_t utilization_missing_ns; /* how long the utilisation of all GPUs was not known */
    uint64_t memory_missing_ns;      /* how long the memory of all GPUs was not known */
    pid_t *pids;                     /* owned, of members */
    size_t pid_capacity;
};

/* Takes the choice of the options. Where no GPU will be read, takes their figures out of the
 * selection. */
int gpus_take(struct gpus *g, const struct toll_options *o, struct selection *s, struct run *run,
              struct toll_error *e);

/* Chooses the GPUs whose utilisation is added up, among those that are read. */
int gpus_count(struct gpus *g, const char *names, struct toll_error *e);

/* Before the command starts: GPUs that were named have to be there. Where the user asked for GPUs
 * and the driver is not slow, the first reading is before the run: energy counts from there. */
int gpus_check(struct gpus *g, const struct tracked *t, struct toll_error *e);

/* Keeps a command from inheriting what a driver's library has opened. */
void gpus_hide_files(struct gpus *g);

/* Begins to read. */
void gpus_open(struct gpus *g, struct tracked *t, struct run *run);

/* Ends what gpus_check and gpus_open began; the choice of GPUs remains. */
void gpus_stop(struct gpus *g);
void gpus_close(struct gpus *g);

/* Asks for the next frame, by the time of the next sample; 0: at once. */
void gpus_ask(struct gpus *g, const struct tracked *t, uint64_t due_ns);

/* Takes the newest frame: adds its devices to the list, and their sums to the row of the machine.
 */
void gpus_tick(struct gpus *g, struct tracked *t, const struct frame *f, struct run *run,
               struct instance_list *list, struct row *system);

/* Fills in what members have of GPUs, after the walk. */
void gpus_members(struct gpus *g, struct tracked *t);

/* Fills in how many GPUs the parts of a target use. */
void gpus_put(const struct gpus *g, const struct tracked *t, const struct frame *f,
              struct target *target);

/* Before figures are shown: fills in how much of the run those of devices and targets cover. A
 * gauge of a target that was not known for a part of the run becomes a lower bound, or unknown
 * where that bound is 0. */
void gpus_judge(const struct gpus *g, struct summary *s, const struct instance *system,
                uint64_t start_ns, uint64_t elapsed_ns);
void gpus_judge_target(const struct gpus *g, const struct target *target, uint64_t elapsed_ns,
                       struct target_summary *s);

/* Writes the ids of the threads that read GPUs and returns their number. */
size_t gpus_threads(const struct gpus *g, pid_t ret[GPU_READERS_MAX]);

/* CPU time of helper processes, as far as it is known. */
uint64_t gpus_helper_cpu_ns(const struct gpus *g);

/* Whether a child of this process is a helper process of a GPU vendor. */
bool gpus_own_child(const struct gpus *g, pid_t pid);
