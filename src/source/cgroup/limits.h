/* SPDX-License-Identifier: MIT
 * What a process may use: the least of what the machine has and of what is granted to it. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/place.h"

#include <sys/types.h>

/* ==== Limits read ============================================================================= */

/* pid 0 is the caller; the cgroup may be NULL. What cannot be read is unknown. */
void limits_read(struct limits *ret, const struct sysroot *root, pid_t pid, const struct cgroup *c);

/* Reads the resource limits alone again: a process may change its own. */
void limits_read_resources(struct limits *l, const struct sysroot *root, pid_t pid);
void limits_done(struct limits *l);

/* ==== Pid limits ============================================================================== */

/* /proc/PID/limits: the soft resource limits of a process. */

enum pid_limit {
    PID_LIMIT_CPU_SECONDS,
    PID_LIMIT_FILE_BYTES,
    PID_LIMIT_CORE_BYTES,
    PID_LIMIT_PROCESSES,
    PID_LIMIT_OPEN_FILES,
    PID_LIMIT_LOCKED_BYTES,
    PID_LIMIT_ADDRESS_BYTES,
    PID_LIMITS,
};

#define PID_LIMIT_NONE UINT64_MAX /* "unlimited" */

struct pid_limits {
    unsigned known; /* bit l: soft[l] was there */
    uint64_t soft[PID_LIMITS];
};

/* 0, -EBADMSG when none of them is there or one is no number, -ESRCH when there is no text. */
int parse_pid_limits(struct scan text, struct pid_limits *ret);

/* ==== Cgroup oom ============================================================================== */

/* How many processes of a cgroup and of those below it the OOM killer has killed. */

struct cgroup_oom {
    struct cgroup_file events; /* of version 2, which includes the cgroups below */
    int directory;             /* of version 1, where those below are walked; owned */
    uint64_t kills; /* the highest reading: the count of a cgroup that is removed is lost */
    bool known;
};

void cgroup_oom_init(struct cgroup_oom *o);

/* Closes the files. What was read stays. */
void cgroup_oom_done(struct cgroup_oom *o);

/* The place of the memory controller, or NULL. */
void cgroup_oom_read(struct cgroup_oom *o, const struct sysroot *root,
                     const struct cgroup_place *place);

/* Takes over a count that was read elsewhere. */
void cgroup_oom_note(struct cgroup_oom *o, uint64_t kills);

/* ==== Kmsg ==================================================================================== */

/* One record of /dev/kmsg. */

struct kmsg {
    uint64_t sequence;   /* counts from 0 at the start of the machine */
    uint64_t time_us;    /* by the scheduler's clock, which runs beside the monotonic one */
    struct scan message; /* borrowed from the text */
};

/* 0 or -EBADMSG. */
int parse_kmsg(struct scan text, struct kmsg *ret);

/* Whether the message says that the OOM killer killed this process. */
bool kmsg_is_kill_of(struct scan message, uint64_t pid);

/* ==== Kernel log ============================================================================== */

/* What the kernel's log says about the end of a process. */

enum kernel_log_answer {
    KERNEL_LOG_UNKNOWN, /* it cannot be read, does not go back that far, or has other pids */
    KERNEL_LOG_NO,
    KERNEL_LOG_YES,
};

/* Whether the OOM killer killed the process after that moment of the monotonic clock. Does not
 * wait. */
enum kernel_log_answer kernel_log_killed(const struct sysroot *root, pid_t pid,
                                         uint64_t since_mono_ns);
