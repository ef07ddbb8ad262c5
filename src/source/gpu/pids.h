/* SPDX-License-Identifier: MIT
 * Maps the pids that a driver reports to ours.
 *
 * A driver counts processes as the machine does. In a container these are not our pids, unless the
 * driver has translated them, which new drivers do and old ones do not: a pid that exists here may
 * be the number of another process there. There a pid is accepted only when something confirms it:
 * the process has it next to another one in its NSpid line, or has the driver's device open.
 * Otherwise the process is unknown. */
#pragma once

#include "base/io/file.h"
#include "base/memory.h"

#include <pthread.h>
#include <sys/types.h>

struct gpu_pids {
    pthread_mutex_t lock;       /* devices may be read side by side */
    const struct sysroot *root; /* borrowed */
    bool is_nested;             /* toll runs in a pid namespace */
    const pid_t *interest;      /* borrowed for a round: the processes of interest, sorted */
    size_t interest_count;
    uint64_t signature;   /* of interest: shows whether it has changed */
    uint64_t renewed_ns;  /* when the rest was forgotten last */
    struct map called;    /* from pids in other namespaces to ours, or 0 when several match */
    bool is_called_read;  /* called is filled in */
    struct map opened;    /* from a pid to itself when it has a device open, or to 0 */
    bool has_opener;      /* a process of interest has a device open */
    bool is_opener_known; /* has_opener is filled in */
};

void gpu_pids_init(struct gpu_pids *p, const struct sysroot *root);
void gpu_pids_done(struct gpu_pids *p);

/* Begins a round of reading. */
void gpu_pids_begin(struct gpu_pids *p, const pid_t *interest, size_t count, uint64_t now_ns);

/* Whether an empty list of processes says nothing: in a container some drivers list none, though a
 * process of interest has a device open. */
bool gpu_pids_hide_users(struct gpu_pids *p);

/* Our pid of a process, or GPU_UNKNOWN_PID. */
pid_t gpu_pids_map(struct gpu_pids *p, unsigned driver_pid);
