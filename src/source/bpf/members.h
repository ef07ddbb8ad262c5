/* SPDX-License-Identifier: MIT
 * CPU time and memory of all members of a cgroup (version 2) and of those below it, written into
 * shared memory by one program of the kernel: an open-coded iterator over the tasks (Linux 6.7).
 * Needs CAP_BPF and CAP_PERFMON, and a kernel with BTF.
 *
 * The figures are for curves: the CPU time of a task that runs is that of its last tick, and pages
 * are counted in batches for each CPU. Totals have other sources. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* As the program writes it. */
struct member_task {
    int32_t pid, thread;
    uint64_t cpu_ns;
    uint64_t ended_ns;  /* of the main thread: CPU time of the threads of its process that ended */
    uint64_t rss_pages; /* of the main thread: of its process; 0: none */
    uint64_t is_on_cpu; /* its CPU time goes on, and cpu_ns is of the last tick */
};

struct bpf_members;

/* cgroup: a descriptor of its directory. 0, or -errno: -EPERM without the capabilities, -ENOENT
 * without BTF, -EOPNOTSUPP when this kernel does not have the iterator or its types are not as
 * expected. */
int bpf_members_open(struct bpf_members **ret, int cgroup);
void bpf_members_close(struct bpf_members *m);
/* Whether the kernel accepts the program, which is not attached to anything. 0 or -errno. */
int bpf_members_check(void);

/* All tasks there are now, threads beside their processes; valid until the next reading. How many,
 * or -errno; -ENOBUFS when there are more than fit. */
ssize_t bpf_members_read(struct bpf_members *m, const struct member_task **ret);
