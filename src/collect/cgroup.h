/* SPDX-License-Identifier: MIT
 * A cgroup, version 1 or 2 or both: its figures, its limits, its processes. */
#pragma once

#include "collect/cgroup_limits.h"
#include "metric/frame.h"

struct cgroup;

/* The cgroup that a process is in, pid 0 for the caller. The sysroot is borrowed until the close.
 * 0; -ENOENT when there is none to be had; -ESRCH; -ENOMEM. */
int cgroup_open_of(struct cgroup **ret, const struct sysroot *root, pid_t pid);

/* The cgroup that a person named: a directory of some hierarchy (/sys/fs/cgroup/memory/job,
 * /sys/fs/cgroup/job.slice) or a path within them (/job). 0, or -errno and a sentence. */
int cgroup_open_path(struct cgroup **ret, const struct sysroot *root, const char *path,
                     struct toll_error *e);
void cgroup_close(struct cgroup *c);

/* Keeps what was read of it, and no descriptor: they are opened again when they are needed. */
void cgroup_close_files(struct cgroup *c);

/* The path within its hierarchy, "/job". With version 1 the paths may differ: it is that of memory,
 * else of cpu, else of version 2. Lives as long as the cgroup. */
const char *cgroup_name(const struct cgroup *c);

/* Whether it is the root of every hierarchy: it has nothing to tell that the machine does not. */
bool cgroup_is_root(const struct cgroup *c);

/* Whether both are the same directory in every hierarchy. */
bool cgroup_same(const struct cgroup *a, const struct cgroup *b);

/* Whether the second is the first, or below it, in the hierarchy both are named after. */
bool cgroup_contains(const struct cgroup *outer, const struct cgroup *inner);

/* Whether its directory was removed. */
bool cgroup_is_gone(struct cgroup *c);

/* Every process of it and of those below, once each; those of other pid namespaces are left out.
 * 0 or -errno. */
int cgroup_each_pid(struct cgroup *c, void (*meet)(void *arg, pid_t pid), void *arg);

/* Its own row and one for each block device. The root gives none. */
void cgroup_collect(struct cgroup *c, struct measured_list *out);

/* How many processes of it and below were killed for want of memory, read now; what was read last
 * when it is gone. Version 1 forgets those of cgroups that were removed. False when the kernel does
 * not tell. */
bool cgroup_oom_kills(struct cgroup *c, uint64_t *ret);

/* The same as it was read last, by cgroup_collect too. */
bool cgroup_oom_kills_seen(const struct cgroup *c, uint64_t *ret);

/* The tightest limits of it and its ancestors; the paths live as long as the cgroup. */
void cgroup_read_limits(const struct cgroup *c, struct cgroup_limit ret[CGROUP_LIMIT_KINDS]);

/* Text of a file of one controller, for what is asked for once. Length or -errno. */
ssize_t cgroup_read_file(const struct cgroup *c, enum cgroup_controller controller,
                         const char *name, char *ret, size_t capacity);
