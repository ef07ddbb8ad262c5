/* SPDX-License-Identifier: MIT
 * A cgroup that toll makes for a command: made, counted, limited, emptied of stale ones, removed.
 *
 * It is a directory "toll-PID" below the cgroup that toll itself is in, so that every limit from
 * there upwards still holds for the command. With version 1 there is one in each hierarchy. toll
 * keeps each directory open and locked: one that can be locked was left by a toll that is gone. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "source/cgroup/place.h"
#include "toll.h"

#include <sys/types.h>

enum { OWN_CGROUP_DIRECTORIES = 6 };

struct own_cgroup_directory {
    char *directory; /* owned, below the sysroot: sys/fs/cgroup/unified/toll-123 */
    char *path;      /* owned, within the hierarchy, as /proc/PID/cgroup shows it: /toll-123 */
    int dir;         /* owned and locked; -1: it was removed */
    bool v2;
};

struct own_cgroup {
    const struct sysroot *root; /* borrowed; NULL: none was made */
    struct own_cgroup_directory directories[OWN_CGROUP_DIRECTORIES];
    size_t count;

    /* Version 2, for clone3 and for programs of bpf(2). */
    int dir;     /* borrowed from the directories; -1: it has no directory of version 2 */
    uint64_t id; /* the kernel's id of it; 0: none */

    bool is_quiet;               /* it hides no limit and no figure: see own_cgroup_open */
    struct cgroup_places places; /* where its figures are, unless it is quiet */
    int cpu;                     /* kept descriptor of its CPU time, -1: not known */
    size_t cpu_at;               /* the directory that has it */
    char *supervisor;            /* owned directory that toll itself had to move to; NULL: none */
    char *enabled;               /* owned: controllers enabled for it, "-cpu -memory"; NULL: none */
};

#define OWN_CGROUP_NONE ((struct own_cgroup){.dir = -1, .cpu = -1})

struct own_cgroup_limits {
    uint64_t memory_bytes; /* 0: none, in all of them */
    double cores;
    uint64_t tasks;
};

/* whole false: only where the command cannot misread anything, which is in a hierarchy of version 2
 * without the controllers that programs take limits from, or at the root of one. true: in all
 * hierarchies that have figures. The sysroot is borrowed until the close. 0, or -errno with a
 * sentence; then nothing is left. */
int own_cgroup_open(struct own_cgroup *ret, const struct sysroot *root, bool whole,
                    const struct own_cgroup_limits *limits, struct toll_error *e);

static inline bool own_cgroup_exists(const struct own_cgroup *o)
{
    return o->count > 0;
}

/* Whether it has directories that a process cannot be born in. */
bool own_cgroup_needs_join(const struct own_cgroup *o);

/* Moves a process in; born_inside: it is in that of version 2 already. 0 or -errno. */
int own_cgroup_join(const struct own_cgroup *o, pid_t pid, bool born_inside);

/* CPU time of everything that ever was in it or below it. */
struct own_cgroup_cpu {
    uint64_t cpu_ns;
    bool has_kinds; /* version 2 only: user_ns + system_ns = cpu_ns */
    uint64_t user_ns, system_ns;
};

/* 0 or -errno. */
int own_cgroup_read_cpu(const struct own_cgroup *o, struct own_cgroup_cpu *ret);

/* cpu.stat of version 2: 0 or -EBADMSG. */
int parse_own_cgroup_cpu(struct scan text, struct own_cgroup_cpu *ret);

/* Calls meet with every process that is in it or below it, as far as its CPU time is counted there.
 * 0 or -errno. */
int own_cgroup_each_pid(const struct own_cgroup *o, void (*meet)(void *arg, pid_t pid), void *arg);

/* Whether a process with that text of /proc/PID/cgroup is counted; true where it is not known. */
bool own_cgroup_counts(const struct own_cgroup *o, struct scan text);

/* Removes the directories and those below that are empty. What has processes in it stays: -EBUSY,
 * and the first of them in *ret_pid (0: not visible). */
int own_cgroup_remove(struct own_cgroup *o, pid_t *ret_pid);

/* Removes empty cgroups beside it that a toll left which was killed. */
void own_cgroup_remove_stale(const struct own_cgroup *o);

/* Closes the descriptors; removes nothing. */
void own_cgroup_close(struct own_cgroup *o);
