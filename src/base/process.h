/* SPDX-License-Identifier: MIT
 * Helper processes that the program around the library does not notice, names of signals, and
 * shared libraries that are loaded at run time. */
#pragma once

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* ==== Quiet fork ============================================================================== */

/* Starts a child that runs `run`, with all signals blocked, and exits with its result. Its end
 * raises no SIGCHLD, and wait(NULL) does not return it unless __WALL is asked for. It has that name
 * and is killed when the thread that started it ends. Other threads of the program may hold any
 * lock: `run` makes system calls only. The pid, or -errno. */
pid_t quiet_fork(const char *name, int (*run)(void *arg), void *arg);

/* The same for a `run` that needs all of the C library. In a program with threads the C library has
 * to know of the fork, and the program may notice the end of the child. */
pid_t quiet_fork_child(const char *name, int (*run)(void *arg), void *arg);

/* A process that runs `run`, which may use all of the C library. In a program with threads it is a
 * child of init, so that the program never notices it; what it costs to start counts among the
 * program's children. The pid, or -errno. */
pid_t quiet_fork_whole(int (*run)(void *arg), void *arg);

enum { QUIET_PROGRAM_FILES = 8 };

/* A process that executes the program at that path, with our environment and all signals blocked.
 * It is a child of init, shares no memory with us, and nothing of ours is copied to start it.
 * files: its descriptors from 3 on, negative ones are closed there; 0 to 2 are ours. The pid, or
 * -errno: -ECHILD where it would become our child, because we are pid 1 or a subreaper and have one
 * thread. */
pid_t quiet_fork_program(const char *path, char *const *argv, const int *files, size_t count);

/* Waits up to grace_ms for the end of a child, then kills it, so that it is not left to a program
 * that knows nothing of it. A child that the kernel holds where no signal reaches it is given up
 * after some milliseconds. */
void quiet_fork_end(pid_t pid, unsigned grace_ms);

/* Whether a child lives that has a copy of this program's memory: the kernel counts the pages that
 * neither has written to as shared. */
bool quiet_fork_shares_memory(void);

/* ==== Pidfd =================================================================================== */

/* A descriptor that becomes readable when the process ends; -1 where the kernel, or its headers,
 * are older than Linux 5.3. */
int process_open_pidfd(pid_t pid);

/* The status of a process that was reaped by any process, as wait has it. False where the kernel
 * does not report it (before Linux 6.15). */
bool process_exit_status(int pidfd, int *ret_status);

/* ==== Signal name ============================================================================= */

/* "TERM" for 15, whatever the C library offers; NULL for numbers without a name of their own, such
 * as real-time signals. */
const char *signal_name(int number);

/* ==== Dynlib ================================================================================== */

/* A shared library that may be missing, or lack functions: loaded at run time, its functions found
 * by a table. */

enum { DYNLIB_NAMES = 3 };

/* One function: where its pointer goes in the caller's struct, and its names, best first. */
struct dynlib_symbol {
    size_t at;
    const char *names[DYNLIB_NAMES + 1]; /* NULL-terminated */
};

/* NULL when it cannot be loaded, and the loader's sentence in `why`, cut to size. */
void *dynlib_open(const char *name, char *why, size_t size);

/* A copy of the library, and of all it needs, that shares nothing with what the program has loaded.
 */
void *dynlib_open_apart(const char *name, char *why, size_t size);

void dynlib_close(void *library); /* accepts NULL */

/* Writes the pointers of all functions, NULL for those that are missing. Returns how many were
 * found. */
size_t dynlib_find(void *library, const struct dynlib_symbol *symbols, size_t count,
                   void *functions);

/* ==== System calls ============================================================================ */

/* A few system calls without a function around them. That saved about 100 ns for each on a machine
 * with mitigations against Spectre, probably because returns after a call are mispredicted. They
 * return the result of the call, or -errno. */

#if defined(__x86_64__) && defined(__LP64__)

static inline long kernel_call(long number, long a, long b, long c, long d)
{
    register long fourth __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

static inline ssize_t kernel_pread(int fd, void *buf, size_t capacity, off_t at)
{
    return kernel_call(SYS_pread64, fd, (long)(intptr_t)buf, (long)capacity, at);
}

static inline int kernel_fstat(int fd, struct stat *ret)
{
    return (int)kernel_call(SYS_fstat, fd, (long)(intptr_t)ret, 0, 0);
}

static inline int kernel_getrusage(int whose, struct rusage *ret)
{
    return (int)kernel_call(SYS_getrusage, whose, (long)(intptr_t)ret, 0, 0);
}

#else /* the structs of the kernel and of the C library need not be the same */

static inline ssize_t kernel_pread(int fd, void *buf, size_t capacity, off_t at)
{
    ssize_t n = pread(fd, buf, capacity, at);
    return n < 0 ? -errno : n;
}

static inline int kernel_fstat(int fd, struct stat *ret)
{
    return fstat(fd, ret) < 0 ? -errno : 0;
}

static inline int kernel_getrusage(int whose, struct rusage *ret)
{
    return getrusage(whose, ret) < 0 ? -errno : 0;
}

#endif
