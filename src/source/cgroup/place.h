/* SPDX-License-Identifier: MIT
 * Where a cgroup is found: its directory in each hierarchy.
 *
 * Version 1 has a hierarchy for each controller, or for some together, and a process may be at
 * different paths in them; version 2 has one for all. Both may be mounted at once. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <sys/types.h>

/* ==== Cgroup place ============================================================================ */

enum cgroup_controller {
    CGROUP_MEMORY,
    CGROUP_CPU,
    CGROUP_CPUACCT,
    CGROUP_UNIFIED, /* version 2 */
    CGROUP_BLKIO,
    CGROUP_PIDS,
    CGROUP_CPUSET,
    CGROUP_OTHER, /* freezer, name=systemd, …: for its processes, it has no figures */
    CGROUP_CONTROLLERS,
};

struct cgroup_place {
    char *directory;     /* owned, below the sysroot: sys/fs/cgroup/memory/job; NULL: none */
    char *path;          /* owned, within the hierarchy: /job */
    size_t mount_length; /* how much of the directory is the mount point */
    bool v2;
    bool sees_root; /* no ancestor is hidden by a container */
    bool is_root;   /* of the whole hierarchy: its figures are the machine's */
};

struct cgroup_places {
    struct cgroup_place at[CGROUP_CONTROLLERS];
    uint64_t hash; /* of what the kernel says of a process in it; 0: not known */
};

/* Of the text of /proc/PID/cgroup, to notice that a process was moved. */
uint64_t pid_cgroup_hash(const char *text, size_t length);

/* The cgroup of a process, pid 0 for the caller. 0; -ENOENT when there is none: nothing is
 * mounted, or it is outside of what is; -ESRCH; -ENOMEM. */
int cgroup_places_of_pid(struct cgroup_places *ret, const struct sysroot *root, pid_t pid);

/* The cgroup that a person named: a directory (/sys/fs/cgroup/memory/job) or a path within the
 * hierarchies (/job), which is looked for in all of them. */
int cgroup_places_of_path(struct cgroup_places *ret, const struct sysroot *root, const char *path,
                          struct toll_error *e);

void cgroup_places_done(struct cgroup_places *p);

/* Where a controller's figures are: in its own hierarchy, or in version 2's; NULL when there is
 * none, or when its figures would be those of the whole machine. */
const struct cgroup_place *cgroup_place_for(const struct cgroup_places *p,
                                            enum cgroup_controller controller);

/* The place that gives the cgroup its name: the first that is not the root of its hierarchy, else
 * the first there is. */
const struct cgroup_place *cgroup_place_main(const struct cgroup_places *p);

/* The one farthest from the root of its hierarchy: its processes are the fewest. */
const struct cgroup_place *cgroup_place_deepest(const struct cgroup_places *p);

/* ==== Pid cgroup ============================================================================== */

/* /proc/PID/cgroup: the cgroup of a process in each hierarchy. */

struct pid_cgroup {
    uint64_t hierarchy;      /* 0 is version 2 */
    struct scan controllers; /* "cpu,cpuacct", "name=systemd"; empty in version 2; borrowed */
    struct scan path;        /* begins with a slash; borrowed from the text */
    bool deleted;            /* the directory was removed while the process was in it */
};

/* The next line: 1, 0 at the end of the text, or -EBADMSG when the line is malformed. A bad
 * line is consumed, so that one can go on behind it. */
int parse_pid_cgroup(struct scan *text, struct pid_cgroup *ret);

/* ==== Cgroup mounts =========================================================================== */

/* The cgroup hierarchies that are mounted. */

struct cgroup_mounts {
    struct mounted_hierarchy {
        bool v2;
        char *root;    /* owned: what of the hierarchy is mounted, "/" for all of it */
        char *point;   /* owned: where, "/sys/fs/cgroup" */
        char *options; /* owned: "rw,cpu,cpuacct" */
    } * list;          /* owned */
    size_t count;
};

/* 0, also when there is none; or -errno. */
int cgroup_mounts_read(struct cgroup_mounts *ret, const struct sysroot *root);
void cgroup_mounts_done(struct cgroup_mounts *m);

/* What a path has below another: "/x" of "/a/x" below "/a", "" of "/a" itself; NULL when it is not
 * below. */
const char *cgroup_path_below(const char *path, const char *above);

/* ==== Cgroup walk ============================================================================= */

/* A cgroup and everything below it. */

/* Calls visit with a descriptor of the directory and of each below it, which is closed afterwards.
 * 0, or -errno when the first cannot be opened. */
int cgroup_walk(const struct sysroot *root, const char *directory,
                void (*visit)(void *arg, int dir), void *arg);

/* The same from a directory that is open already, which stays open. */
void cgroup_walk_from(int dir, void (*visit)(void *arg, int dir), void *arg);
