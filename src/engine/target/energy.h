/* SPDX-License-Identifier: MIT
 * The share that targets have of the energy of processors and GPUs, as an interval.
 *
 * For each package and the time between two readings of its counter:
 *
 *   low    energy × CPU time of the target / (CPUs of the package × time): idle belongs to no job
 *   high   energy × CPU time of the target / CPU time of all that ran:     idle belongs to those
 *
 * On which package a target ran is not known: its CPU time is divided among packages, within what
 * was busy there, so that low is the lowest and high the highest that this allows. A GPU is the
 * target's as a whole while no other process uses it; otherwise by its share of the GPU's time. */
#pragma once

#include "engine/target/gpus.h"
#include "engine/target/tracked.h"
#include "source/kernel_file.h"
#include "summary/energy.h"
#include "summary/summary.h"

/* A package of CPUs with what it used between two readings. */
struct energy_package {
    unsigned number;
    int die; /* of a package with several; -1: all */
    unsigned cpus;
    uint64_t energy_uj, busy_ns;  /* counters */
    double used_uj, used_busy_ns; /* since the reading before */
    bool is_read, was_read;
};

struct energy_gpu {
    bool is_read; /* before */
    bool has_counter;
    bool has_use; /* used_uj is new with this frame */
    uint64_t energy_uj;
    double power_watts;
    uint64_t read_ns;
    double used_uj;
};

/* What one target has, or the union of all. */
struct energy_share {
    struct {
        double low_uj, high_uj;
        bool is_begun, is_partial; /* a part of the run is missing */
    } cpu, gpu;
    double low_grams, high_grams;
    bool lacks_grams;
    uint64_t cpu_ns; /* of the target at the last reading */
    bool has_cpu;
    uint64_t on_gpus; /* bits of GPUs that it was on in the frame before, */
    uint64_t shared;  /* and of those that others were on */
};

struct energy_meter {
    bool is_asked;
    struct energy_prices prices;
    struct kernel_file stat;
    uint64_t ns_per_tick;
    struct energy_package *packages; /* owned */
    size_t package_count;
    int *cpu_packages; /* owned: of each CPU by its number, -1 unknown; -2 not looked up */
    size_t cpu_count;
    uint64_t read_ns;
    uint64_t span_ns; /* between the last two readings */
    bool is_new, is_whole, has_read, is_of_perf;
    bool gpus_are_new, gpus_are_sampled, gpus_have_counter;
    struct energy_gpu *gpus; /* owned, by device */
    size_t gpu_count;
    bool lacks_gpu;              /* one has neither energy nor power */
    struct energy_share *shares; /* owned, by target */
    size_t share_count;
};

/* Whether the counters are due although the second is not over: at a mark, ten times a second at
 * most. */
bool energy_is_due(const struct energy_meter *e, const struct frame *f);

/* After the counters of the machine were read (processors_are_new), or not. */
void energy_tick(struct energy_meter *e, const struct tracked *t, const struct gpus *g,
                 const struct frame *f, const struct instance_list *machine,
                 bool processors_are_new);

/* Adds to the share of a target what it used since the last reading, and puts it into the row of
 * the target as a whole. */
void energy_count(struct energy_meter *e, const struct tracked *t, const struct gpus *g,
                  const struct frame *f, const struct target *target, struct row *row);

/* At the end. */
void energy_judge_target(const struct energy_meter *e, const struct tracked *t,
                         const struct target *target, uint64_t elapsed_ns,
                         struct target_summary *s);
void energy_finish(const struct energy_meter *e, const struct tracked *t, const struct run *run,
                   struct summary *s);
void energy_done(struct energy_meter *e);

/* The interval of one target: for tests too. */
void energy_divide(const struct energy_package *packages, size_t count, uint64_t span_ns,
                   double cpu_ns, double *ret_low_uj, double *ret_high_uj);
