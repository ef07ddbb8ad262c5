/* SPDX-License-Identifier: MIT
 * The contract of a source of figures about the machine: one file each, one line in collectors.c.
 *
 * A collector owns its things (struct measured) and puts those it has read in this tick into the
 * list; figures of the machine as a whole go into the one thing all collectors share. What cannot
 * be read is left out, never written as 0. A collector that waits (a filesystem of the network)
 * must not be waited for. */
#pragma once

#include "base/io/file.h"
#include "metric/frame.h"
#include "metric/metric.h"

/* ==== Collector =============================================================================== */

struct collect_context {
    const struct sysroot *root;        /* borrowed; its descriptors may change between two ticks */
    const struct selection *selection; /* borrowed: what nobody asked for need not be read */
    pid_t net_pid;                     /* whose network namespace is meant; 0: our own */
    struct instance *system;           /* borrowed: the machine as a whole */
    /* Called with a sentence when figures are missing for a reason a person can do something
     * about; it may be said at every tick, it is told once. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;
    /* A helper process was started: it is none of the target's. */
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
    /* *ret_state is handed to the other calls. 0; -ENOENT when this machine has nothing of the
     * kind. */
    int (*open)(void **ret_state, const struct collect_context *c);
    void (*collect)(void *state, const struct collect_context *c, struct instance_list *out);
    void (*close)(void *state);
};

/* THE list, NULL behind the last. */
extern const struct collector *const collectors[];

/* ==== Collectors ============================================================================== */

/* The collectors by name, for their list. */

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

/* How collectors of the machine write into the row they share. */

/* Holds a counter that the kernel has in another unit; unknown when it does not fit any more. */
static inline void row_hold_scaled(struct row *r, enum metric_id id, uint64_t value, uint64_t unit)
{
    uint64_t scaled;
    if (__builtin_mul_overflow(value, unit, &scaled))
        row_unknown(r, id);
    else
        row_hold_u64(r, id, scaled);
}

/* What a collector gave before is unknown until it is read again. */
static inline void row_forget(struct row *r, uint64_t bits)
{
    r->present &= ~bits;
}
