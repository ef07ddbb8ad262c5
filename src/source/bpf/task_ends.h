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
    uint64_t tasks, cpu_ns; /* that ended, threads included */
    uint64_t born;          /* tasks that members made: not the first one, which is put in */
    uint64_t processes;     /* that ended; 0 where has_processes is false */
    uint64_t lost;          /* records for which there was no room */
    uint64_t uncounted; /* threads, and uses of sockets, of processes for which there was none */
    uint64_t sent_bytes, received_bytes; /* as in process_traffic, of all processes */
};

enum { TASK_ARGUMENTS_BYTES = 256 };
enum task_end_kind { TASK_END_THREAD = 1, TASK_END_PROCESS = 2 };

/* As the programs write it. The figures of a process are the sum over its threads: the records with
 * the same pid and `signals`. Beside them, one record of the kind PROCESS has its identity, how it
 * ended, its peak and its arguments, and no other figures; it comes before that of the last thread.
 * Where there is none, records with thread == pid have identity and end: there are two if another
 * thread called exec, and the later one holds. A process is complete when as many records of
 * threads were read as `threads` has. */
struct task_end {
    uint64_t signals; /* names the process together with its pid: an address in the kernel */
    uint64_t start_ns,
        end_ns; /* since boot, and by the monotonic clock. Of a thread its own start; of
                   a record of the process, and with thread == pid, that of the process */
    uint64_t cpu_ns, user_ticks_ns, system_ticks_ns; /* the ticks show how CPU time divides */
    uint64_t io_read_bytes, io_written_bytes, io_read_calls, io_write_calls;
    uint64_t storage_read_bytes, storage_written_bytes, storage_cancelled_bytes;
    uint64_t faults_minor, faults_major;
    uint64_t switches_voluntary, switches_involuntary;
    uint64_t peak_pages; /* of the program that it ended as; PROCESS only; 0: unknown */
    uint64_t sent_bytes, received_bytes; /* of the process, in the record that has `threads` */
    uint32_t kind;
    uint32_t
        threads; /* that the process had in all: in the record of its last thread, otherwise 0 */
    int32_t pid, thread, parent;        /* the parent at its end */
    int32_t exit_code, group_exit_code; /* as wait4 has them */
    uint32_t signal_flags, task_flags;
    char name[16];
    uint32_t arguments_bytes;             /* of a process: as many as were kept, 0 unknown */
    char arguments[TASK_ARGUMENTS_BYTES]; /* each terminated, as in /proc/PID/cmdline */
};

/* What a living process passed to its sockets of IPv4 and IPv6 and took from them: payload as the
 * program had it, whichever socket it is and whatever made it. Data that was looked at and left
 * there (MSG_PEEK) is not counted. What goes from a socket into a pipe by splice, and what is
 * received by mapping its pages, is not seen. */
struct process_traffic {
    int32_t pid;
    uint64_t sent_bytes, received_bytes;
};

struct task_ends;

/* Records from now on. cgroup: a descriptor of its directory; of members that have several threads
 * by then, their number is too low. wants_traffic: network bytes of processes, too. 0, or -errno:
 * -EPERM without the capabilities, -ENOENT without BTF, -EOPNOTSUPP when this kernel's types are
 * not as expected, -EXDEV in a pid namespace, where the programs would see other pids than the
 * caller. */
int task_ends_open(struct task_ends **ret, int cgroup, bool wants_traffic);
/* Whether the kernel accepts the programs, which are not attached to anything: as task_ends_open
 * returns, or 1 without ends of processes. */
int task_ends_check(void);
/* Whether this kernel shows the lengths of calls on sockets; needs no call of the kernel. */
bool task_ends_may_have_traffic(void);
void task_ends_close(struct task_ends *t);

/* For epoll with EPOLLET: an event comes when a quarter of the room for records is used; otherwise
 * they wait for task_ends_read. Without EPOLLET there would be one for each record. Borrowed. */
int task_ends_fd(const struct task_ends *t);

/* Whether ends of processes are counted and recorded beside those of threads (Linux 6.16). */
bool task_ends_has_processes(const struct task_ends *t);
/* Whether the kernel counts I/O of tasks (CONFIG_TASK_IO_ACCOUNTING). */
bool task_ends_has_io(const struct task_ends *t);
/* Whether network bytes of processes are counted (Linux 6.3, if they were wanted). */
bool task_ends_has_traffic(const struct task_ends *t);

/* Takes all records there are, in the order of their ends on each CPU. */
void task_ends_read(struct task_ends *t, void (*take)(void *arg, const struct task_end *e),
                    void *arg);

/* Costs no system call. Right even if records were lost. */
struct task_totals task_ends_totals(const struct task_ends *t);

/* The processes that live and have used sockets; valid until the next reading. How many, or
 * -errno. Those that have ended have it in their last record. */
ssize_t task_ends_read_traffic(struct task_ends *t, const struct process_traffic **ret);

/* The status of a process as wait4 returns it, from the end of its first thread or of the process.
 */
int task_end_status(const struct task_end *e);
/* Whether the process has called exec; otherwise its program is that of its parent. */
bool task_end_has_executed(const struct task_end *e);
