/* SPDX-License-Identifier: MIT
 * Recorded machines with cgroups: a container with version 2, and version 1 beside an empty 2. */
#pragma once

#include "base/io/file.h"
#include "proc_tree.h"
#include "source/cgroup/cgroup.h"

struct cgroup_tree {
    struct tree tree;
    struct sysroot root;
};

static inline void cgroup_tree_open(struct cgroup_tree *t, const char *mountinfo, const char *pid_1)
{
    tree_make(&t->tree);
    tree_write(&t->tree, "proc/self/mountinfo", mountinfo);
    tree_write(&t->tree, "proc/1/cgroup", pid_1);
    tree_write(&t->tree, "sys/version", "");
    assert_int_equal(sysroot_open(&t->root, t->tree.path, NULL), 0);
}

static inline void cgroup_tree_close(struct cgroup_tree *t)
{
    sysroot_close(&t->root);
    tree_remove(&t->tree);
}

/* Several files of one directory: name, text, name, text, NULL. */
static inline void cgroup_write(const struct cgroup_tree *t, const char *directory, ...)
{
    va_list args;
    va_start(args, directory);
    for (const char *name; (name = va_arg(args, const char *));) {
        char path[256];
        snprintf(path, sizeof path, "sys/fs/cgroup/%s/%s", directory, name);
        tree_write(&t->tree, path, va_arg(args, const char *));
    }
    va_end(args);
}

#define V2_MOUNT "24 18 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"

/* /a with a limit of 1 GB, half a core and 50 tasks; /a/job with looser ones and figures. */
static inline void cgroup_tree_v2(struct cgroup_tree *t)
{
    cgroup_tree_open(t, V2_MOUNT, "0::/a/job\n");
    cgroup_write(t, ".", "cgroup.procs", "900\n", "cpu.stat", "usage_usec 99\n", NULL);
    cgroup_write(t, "a", "cgroup.procs", "", "cgroup.events", "populated 1\n", "memory.max",
                 "1000000000\n", "cpu.max", "50000 100000\n", "pids.max", "50\n", "memory.swap.max",
                 "max\n", NULL);
    cgroup_write(t, "a/job", "cgroup.procs", "11\n12\n0\n", "cgroup.events", "populated 1\n",
                 "memory.max", "2000000000\n", "cpu.max", "max 100000\n", "pids.max", "max\n",
                 "memory.swap.max", "0\n", "cpu.stat",
                 "usage_usec 3000\nuser_usec 2000\nsystem_usec 1000\nnr_periods 0\n"
                 "nr_throttled 0\nthrottled_usec 0\n",
                 "memory.current", "5000\n", "memory.peak", "9000\n", "memory.swap.current", "7\n",
                 "memory.stat", "anon 100\nfile 200\nkernel 300\nkernel_stack 1\nshmem 50\n",
                 "memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n",
                 "memory.events.local", "low 0\nhigh 0\nmax 1\noom 0\noom_kill 0\n", NULL);
    cgroup_write(t, "a/job", "pids.current", "2\n", "pids.events", "max 6\n", "io.stat",
                 "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n253:0 rbytes=10 wbytes=20 "
                 "rios=1 wios=2 dbytes=0 dios=0\n7:9 \n",
                 "cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\n", "io.pressure",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"
                 "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
                 "cpuset.cpus.effective", "0-1\n", NULL);
    cgroup_write(t, "a/job/below", "cgroup.procs", "13\n11\n", "cgroup.events", "populated 1\n",
                 NULL);
    tree_write(&t->tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nDEVNAME=sda\n");
    tree_write(&t->tree, "sys/dev/block/253:0/slaves/sda", "");
}

#define V1_MOUNTS                                                                                  \
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"                          \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"                                  \
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"                          \
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                            \
    "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"                              \
    "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"                                \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"                     \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

/* Version 1 in a mount for each controller; cpuacct and the empty version 2 at their roots. */
static inline void cgroup_tree_v1(struct cgroup_tree *t)
{
    static const char *const roots[] = {"cpu", "cpuacct", "memory", "blkio", "pids", "systemd"};
    cgroup_tree_open(t, V1_MOUNTS,
                     "8:pids:/job\n7:blkio:/job\n4:memory:/job\n2:cpuacct:/\n1:cpu:/job\n"
                     "9:name=systemd:/\n0::/\n");
    for (size_t i = 0; i < ARRAY_LEN(roots); i++)
        cgroup_write(t, roots[i], "cgroup.procs", "1\n", "release_agent", "\n", NULL);
    cgroup_write(t, "cpuacct", "cpuacct.usage", "999999\n", NULL);
    cgroup_write(t, "unified", "cgroup.procs", "1\n", "cpu.stat", "usage_usec 5\n", NULL);
    cgroup_write(t, "memory", "memory.limit_in_bytes", "9223372036854771712\n", NULL);
    cgroup_write(t, "memory/job", "cgroup.procs", "21\n", "memory.usage_in_bytes", "5000\n",
                 "memory.max_usage_in_bytes", "9000\n", "memory.limit_in_bytes", "70000\n",
                 "memory.failcnt", "3\n", "memory.kmem.usage_in_bytes", "40\n", "memory.stat",
                 "cache 1\nrss 1\nhierarchical_memory_limit 60000\ntotal_cache 20\ntotal_rss 30\n"
                 "total_shmem 5\ntotal_swap 6\n",
                 "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", NULL);
    cgroup_write(t, "memory/job/in", "cgroup.procs", "22\n", "memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", NULL);
    cgroup_write(t, "cpu/job", "cgroup.procs", "21\n", "cpu.stat",
                 "nr_periods 10\nnr_throttled 4\nthrottled_time 77\n", "cpu.cfs_quota_us",
                 "150000\n", "cpu.cfs_period_us", "100000\n", NULL);
    cgroup_write(t, "pids/job", "cgroup.procs", "21\n", "pids.current", "2\n", "pids.max", "max\n",
                 "pids.events", "max 0\n", NULL);
    cgroup_write(t, "blkio/job", "cgroup.procs", "21\n", "blkio.throttle.io_service_bytes",
                 "8:0 Read 0\n8:0 Write 0\n8:0 Total 0\nTotal 0\n", "blkio.throttle.io_serviced",
                 "8:0 Read 0\n8:0 Write 0\n8:0 Total 0\nTotal 0\n", NULL);
}
