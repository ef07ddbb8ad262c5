/* SPDX-License-Identifier: MIT
 * The end of every task of a cgroup (version 2), recorded by programs that the kernel runs: one at
 * the last switch away from a dead task, when its CPU time is final, and one where a process ends,
 * while its memory is still there (Linux 6.16; without it peaks are unknown). Needs CAP_BPF and
 * CAP_PERFMON, and a kernel with BTF.
 *
 * Membership goes by the cgroup, never by pid: a thread that calls exec takes over the pid of its
 * process while the first thread still dies under it. Totals are kept beside the records, so that
 * they are right when records were lost. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* Kept by the programs; CPU time in nanoseconds. */
struct task_totals {
    uint64_t tasks, cpu_ns;
    uint64_t processes; /* that ended; 0 where has_processes is false */
    uint64_t lost;      /* records for which there was no room */
};

enum { TASK_ARGUMENTS_BYTES = 256 };
enum task_end_kind { TASK_END_THREAD = 1, TASK_END_PROCESS = 2 };

/* As the programs write it. Of a thread, everything but the peak; of a process its identity, how it
 * ended, and its peak. */
struct task_end {
    uint64_t signals; /* names the process together with its pid: an address in the kernel */
    uint64_t start_ns, end_ns; /* since boot, and by the monotonic clock */
    uint64_t cpu_ns, user_ticks_ns, system_ticks_ns; /* the ticks show how CPU time divides */
    uint64_t io_read_bytes, io_written_bytes, io_read_calls, io_write_calls;
    uint64_t storage_read_bytes, storage_written_bytes, storage_cancelled_bytes;
    uint64_t faults_minor, faults_major;
    uint64_t switches_voluntary, switches_involuntary;
    uint64_t peak_pages;
    uint32_t kind;
    int32_t pid, thread, parent;
    uint32_t live;                      /* threads of the process that had not begun to end */
    int32_t exit_code, group_exit_code; /* as wait4 has them */
    uint32_t signal_flags;
    char name[16];
    uint32_t arguments_bytes, reserved; /* of a process: as many as were kept, 0 unknown */
    char arguments[TASK_ARGUMENTS_BYTES]; /* each terminated, as in /proc/PID/cmdline */
};

struct task_ends;

/* Records from now on. cgroup: a descriptor of its directory. 0, or -errno: -EPERM without the
 * capabilities, -ENOENT without BTF, -EOPNOTSUPP when this kernel's types are not as expected. */
int task_ends_open(struct task_ends **ret, int cgroup);
void task_ends_close(struct task_ends *t);

/* Readable when half of the room for records is used; otherwise they wait for task_ends_read.
 * Borrowed. */
int task_ends_fd(const struct task_ends *t);

/* Whether ends of processes are counted and recorded beside those of threads. */
bool task_ends_has_processes(const struct task_ends *t);

/* Takes all records there are, in the order of their ends on each CPU. */
void task_ends_read(struct task_ends *t, void (*take)(void *arg, const struct task_end *e),
                    void *arg);

/* Costs no system call. */
struct task_totals task_ends_totals(const struct task_ends *t);

/* The status of a process as wait4 returns it, from the end of its first thread or of the process.
 */
int task_end_status(const struct task_end *e);
