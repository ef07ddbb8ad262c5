/* SPDX-License-Identifier: MIT
 * What figures are of. */
#pragma once

#include "metric/metric.h"

/* The parts of a target. */
enum part { PART_COMBINED, PART_MAIN, PART_DESCENDANTS, PARTS };

/* "combined", "main", "descendants": keys inside a target. */
const char *part_name(enum part part);

/* "target", "main", "descendants": prefixes of flat column names. */
const char *part_prefix(enum part part);

enum { ENTITY_NAME_BYTES = 64 }; /* the kernel's limit on a process name, escapes included */

/* What else is said of a thing: {"class", "loopback"}. */
struct label {
    const char *key;
    const char *value; /* borrowed, lives as long as the entity */
};

enum { ENTITY_LABELS = 8 };

/* A process is known by pid and start time together: a pid alone may be reused. */
struct entity {
    enum entity_kind kind;
    enum part part;   /* of a target */
    unsigned target;  /* its number, from 0 */
    uint64_t targets; /* of a process: bits of those it belongs to */
    pid_t pid;        /* of a process */
    pid_t parent;
    uint64_t start_ticks;
    char name[ENTITY_NAME_BYTES];
    const char *path; /* a name of any length instead (a mount point, a cgroup), borrowed */
    struct label labels[ENTITY_LABELS]; /* those with a key */
};

/* Whether the space of a filesystem is space on disks: what is on this machine's or behind the
 * network is, memory is not, and an overlay shows the space of another one once more. */
enum space_kind { SPACE_NONE, SPACE_OVERLAY, SPACE_NETWORK, SPACE_LOCAL };

enum space_kind entity_space(const struct entity *e);

/* path or name */
const char *entity_name(const struct entity *e);
