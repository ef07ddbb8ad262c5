/* SPDX-License-Identifier: MIT
 * /proc/PID/stat: the short facts of a process, on one line. */
#pragma once

#include "base/text/scan.h"
#include "base/util.h"

#include <sys/types.h>

/* ==== Pid stat ================================================================================ */

struct pid_stat {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    char state;       /* R S D Z T … */
    bool of_kernel;   /* a thread of the kernel: it has no memory and lives all the same */
    bool is_leaving;  /* on its way out: the last moments in the kernel, then a zombie */
    const char *name; /* inside the text that was parsed, not terminated */
    size_t name_length;
    uint64_t faults_minor, children_faults_minor; /* children: those that were reaped */
    uint64_t faults_major, children_faults_major;
    uint64_t user_ticks, children_user_ticks;
    uint64_t system_ticks, children_system_ticks;
    uint64_t threads;
    uint64_t start_ticks; /* since boot */
    uint64_t virtual_bytes;
    uint64_t rss_pages;
    bool before_exec;     /* forked, and it has not called exec since: only then can it share the
                             memory of another process */
    uint64_t start_stack; /* the same for all that share it; 0: hidden by permissions */
};

/* 0, -EBADMSG when the text is not as expected, -ESRCH when there is none. */
int parse_pid_stat(struct scan text, struct pid_stat *ret);

/* ==== Pid status ============================================================================== */

/* /proc/PID/status: what stat does not say. */

struct pid_status {
    bool has_memory;           /* false for a zombie and a kernel thread: they have none */
    bool has_shared;           /* RssFile and RssShmem, since Linux 4.5 */
    bool has_swap;             /* VmSwap; absent without CONFIG_SWAP */
    uint64_t high_water_bytes; /* VmHWM */
    uint64_t rss_bytes;        /* VmRSS; since Linux 6.16 more exact than in stat */
    uint64_t shared_bytes;     /* RssFile + RssShmem */
    uint64_t swap_bytes;
    uint64_t ignored_signals;    /* SigIgn: bit n-1 is signal n */
    uint64_t switches_voluntary; /* of the main thread */
    uint64_t switches_involuntary;
};

/* 0, -EBADMSG when SigIgn or the switches are missing or a number is not one, -ESRCH when there is
 * no text. */
int parse_pid_status(struct scan text, struct pid_status *ret);

/* The effective user alone; the same errors. */
int parse_pid_user(struct scan text, uid_t *ret_effective);

/* SigPnd, what the main thread was sent and has not taken yet: bit n-1 is signal n; the same
 * errors. */
int parse_pid_pending(struct scan text, uint64_t *ret_signals);

/* The pids it has, from the namespace that this /proc is of down to its own: at most `most`, more
 * are left out. How many, -ENODATA when the kernel does not say (before Linux 4.1), -EBADMSG, or
 * -ESRCH. */
int parse_pid_namespaces(struct scan text, pid_t *pids, unsigned most);

/* ==== Pid io ================================================================================== */

/* /proc/PID/io and /proc/PID/task/TID/io: bytes through calls and to storage. */

struct pid_io {
    uint64_t read_bytes;    /* rchar: through calls */
    uint64_t written_bytes; /* wchar */
    uint64_t read_calls;
    uint64_t write_calls;
    uint64_t storage_read_bytes;
    uint64_t storage_written_bytes;
    uint64_t storage_cancelled_bytes;
};

/* 0, -EBADMSG when a line is missing or not as expected, -ESRCH when there is no text. */
int parse_pid_io(struct scan text, struct pid_io *ret);

/* ==== Statm =================================================================================== */

/* /proc/PID/statm: memory in pages. */

struct statm {
    uint64_t virtual_pages;
    uint64_t rss_pages;
    uint64_t shared_pages;
};

/* 0, -EBADMSG, -ESRCH when there is no text. */
int parse_statm(struct scan text, struct statm *ret);

/* ==== Schedstat =============================================================================== */

/* /proc/PID/task/TID/schedstat: time on a CPU and time waiting for one, of one thread. */

struct schedstat {
    uint64_t run_ns;
    uint64_t wait_ns; /* ready to run, no CPU free */
};

/* 0, -EBADMSG, -ESRCH when there is no text. */
int parse_schedstat(struct scan text, struct schedstat *ret);

/* ==== Smaps rollup ============================================================================ */

/* /proc/PID/smaps_rollup: memory with its sharing resolved (Linux 4.14 and later). */

struct smaps_rollup {
    uint64_t rss_bytes;
    uint64_t pss_bytes;
    uint64_t uss_bytes; /* Private_Clean + Private_Dirty */
};

/* 0, -EBADMSG when one of the lines is missing, -ESRCH when there is no text. */
int parse_smaps_rollup(struct scan text, struct smaps_rollup *ret);
