/* SPDX-License-Identifier: MIT
 * What is read of GPUs: the devices that were chosen, and what members have of them. */
#pragma once

#include "engine/tracker.h"
#include "source/gpu/readers.h"

/* Takes the choice, and figures of GPUs out of the selection where none will be read. */
int gpus_take(struct toll_tracker *t, const char *choice, struct toll_error *e);

/* Those whose utilisation is added up, of the ones that are read. */
int gpus_count(struct toll_tracker *t, const char *names, struct toll_error *e);

/* Before anything runs: GPUs that were named have to be there. Who asked for GPUs has them from the
 * beginning, where the driver does not take long: energy counts from the first reading on. */
int gpus_check(struct toll_tracker *t, struct toll_error *e);

/* A command does not inherit what a driver's library has opened. */
void gpus_hide_files(struct toll_tracker *t);

/* Begins to read, and ends it. */
void gpus_open(struct toll_tracker *t);
void gpus_close(struct toll_tracker *t);

/* Ends what gpus_check began; the choice of GPUs remains. */
void gpus_stop(struct toll_tracker *t);

/* The newest frame: its devices go into the list of things that were read in this tick. */
void gpus_tick(struct toll_tracker *t);

/* What members have of them, after the walk. */
void gpus_members(struct toll_tracker *t);

/* … and how many GPUs the parts of a target use. */
void gpus_put(const struct toll_tracker *t, struct target *g);

/* Before figures are shown: how much of the run those of the devices cover, and those of a target.
 * What was not known for a part of it is at least so much; at least nothing is unknown. */
void gpus_judge(const struct toll_tracker *t, struct summary *s);
void gpus_judge_target(const struct toll_tracker *t, const struct target *g,
                       struct target_summary *s);

/* Asks for the next frame, by the time of the next sample. */
void gpus_ask(struct toll_tracker *t, uint64_t due_ns);

/* The threads that read them; so many. */
size_t gpus_threads(const struct toll_tracker *t, pid_t ret[GPU_READERS_MAX]);

/* CPU time of processes that drivers run in, as far as is known. */
uint64_t gpus_helper_cpu_ns(const struct toll_tracker *t);

/* Whether a child of ours is a helper of those who read GPUs. */
bool gpus_own_child(const struct gpus *g, pid_t pid);
