/* SPDX-License-Identifier: MIT
 * Whose pid a driver means.
 *
 * A driver counts processes as the machine does. In a container these are not our pids, unless the
 * driver has translated them, which new ones do and old ones do not: a pid that happens to exist
 * here may be somebody else's there. There a pid is taken only when something confirms it: the
 * process has it beside another one in its NSpid line, or it has the driver's device open.
 * Otherwise it cannot be told whose it is. */
#pragma once

#include "base/io/file.h"
#include "base/memory.h"

#include <pthread.h>
#include <sys/types.h>

struct gpu_pids {
    pthread_mutex_t lock;       /* devices may be read side by side */
    const struct sysroot *root; /* borrowed */
    bool is_nested;             /* we are in a pid namespace of our own */
    const pid_t *interest;      /* borrowed for a round: the processes that may be meant */
    size_t interest_count;
    uint64_t signature; /* … and whether they are the same as before */
    struct map called;  /* by pids in other namespaces: theirs, or 0 when it might be several … */
    bool is_called_read;  /* … once they were asked for */
    struct map opened;    /* whether a process has a device open: its pid, or 0 */
    bool has_opener;      /* one of interest has … */
    bool is_opener_known; /* … once that was looked for */
    uint64_t renewed_ns;  /* what was found out since then */
};

void gpu_pids_init(struct gpu_pids *p, const struct sysroot *root);
void gpu_pids_done(struct gpu_pids *p);

/* A round of reading begins. */
void gpu_pids_begin(struct gpu_pids *p, const pid_t *interest, size_t count, uint64_t now_ns);

/* Whether an empty list of processes means nothing: in a container some drivers list none at all,
 * though a process of interest has a device open. */
bool gpu_pids_hide_users(struct gpu_pids *p);

/* Our pid of a process, or GPU_UNKNOWN_PID. */
pid_t gpu_pids_map(struct gpu_pids *p, unsigned driver_pid);
