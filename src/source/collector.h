/* SPDX-License-Identifier: MIT
 * The contract of a source of figures about the machine: one file each, one line in the list in
 * probe.c.
 *
 * A collector owns its instances and puts those it has read in this tick into the list; figures of
 * the machine as a whole go into the one instance that all collectors share. What cannot be read is
 * left out, never written as 0. A collector never blocks: a filesystem of the network is asked by a
 * helper. */
#pragma once

#include "base/io/file.h"
#include "metric/frame.h"
#include "metric/metric.h"

/* ==== Collector =============================================================================== */

struct collect_context {
    const struct sysroot *root;        /* borrowed; its descriptors may change between two ticks */
    const struct selection *selection; /* borrowed: other figures need not be read */
    pid_t net_pid;                     /* a process of the network namespace; 0: our own */
    struct instance *system;           /* borrowed: the machine as a whole */
    /* Called with a sentence when figures are missing for a reason that a user can change. It may
     * be called at every tick; a sentence is shown once. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;
    /* Called when a helper process was started: it does not belong to a target. */
    void (*own_child)(void *arg, pid_t pid);
};

/* The bit of a metric of the machine in a mask, and of all from one to another. */
#define SYSTEM_BIT(name)      BIT(system_##name - system_first)
#define SYSTEM_BITS(from, to) (2 * SYSTEM_BIT(to) - SYSTEM_BIT(from))

struct collector {
    const char *name;
    uint64_t gives; /* bits of the kinds of entities it has figures of, ENTITY_SYSTEM too */
    uint64_t gives_of_system; /* bits of the metrics of the machine as a whole */
    enum metric_cost cost;    /* CHEAP: every tick, REFRESH: about once a second, SLOW: every ten */
    /* *ret_state is handed to the other calls. 0; -ENOENT when this machine has no such figures. */
    int (*open)(void **ret_state, const struct collect_context *c);
    void (*collect)(void *state, const struct collect_context *c, struct instance_list *out);
    void (*close)(void *state);
};

/* All collectors, NULL-terminated. */
extern const struct collector *const collectors[];

extern const struct collector collector_machine_cpu;
extern const struct collector collector_machine_memory;
extern const struct collector collector_machine_paging;
extern const struct collector collector_machine_load;
extern const struct collector collector_disks;
extern const struct collector collector_mounts;
extern const struct collector collector_netifs;
extern const struct collector collector_sensors;
extern const struct collector collector_rapl;

/* ==== Machine row ============================================================================= */

/* Holds a counter that the kernel has in another unit; unknown when it does not fit any more. */
static inline void row_hold_scaled(struct row *r, enum metric_id id, uint64_t value, uint64_t unit)
{
    uint64_t scaled;
    if (__builtin_mul_overflow(value, unit, &scaled))
        row_unknown(r, id);
    else
        row_hold_u64(r, id, scaled);
}

/* Makes figures unknown until they are read again. Counters stay held. */
static inline void row_forget(struct row *r, uint64_t bits)
{
    r->present &= ~bits;
}
