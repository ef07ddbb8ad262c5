/* SPDX-License-Identifier: MIT
 * Helper processes that the program around us does not notice. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ==== Quiet fork ============================================================================== */

/* A fork without a signal at its end: the program around us gets no SIGCHLD for it, and does not
 * meet it in wait(NULL), unless it asks for such children with __WALL. The program may have
 * threads, and one of them may hold any lock: the child makes system calls only. */
pid_t quiet_fork(void);

/* A process that runs `run` and may use all of the C library, in a program with threads too: there
 * the C library has to know of the fork, so that no lock is held in the child, and it is not our
 * child then but init's. `run` is called with all signals blocked, and its result is the exit
 * status. The pid, or -errno. What the way there costs counts among the program's children. */
pid_t quiet_fork_whole(int (*run)(void *arg), void *arg);

enum { QUIET_PROGRAM_FILES = 8 };

/* A process that executes the program at that path, with our environment and all signals blocked,
 * and is not our child but init's. It shares no memory with us, and nothing of ours is copied on
 * the way. files: its descriptors from 3 on, negative ones are closed there; 0 to 2 are ours. The
 * pid, or -errno: -ECHILD where it would become a child that we meet in wait(), other than a copy:
 * we are pid 1 or a subreaper, and have one thread. */
pid_t quiet_fork_program(const char *path, char *const *argv, const int *files, size_t count);

/* It dies at once, so that it is not left to a program that knows nothing of it; unless the kernel
 * holds it where no signal reaches it, which is waited for some milliseconds at most. */
void quiet_fork_end(pid_t pid);

/* Whether one of them lives, and with it a copy of this program's memory, of which the kernel takes
 * pages for shared as long as neither writes to them. */
bool quiet_fork_shares_memory(void);

/* In the child: it must not keep the pipe open that somebody reads our output from, should it be
 * stuck. */
void quiet_fork_close_all_but(int fd);

/* ==== Pidfd =================================================================================== */

/* A descriptor that becomes readable when the process ends; -1 where the kernel, or its headers,
 * are older than Linux 5.3. */
int process_open_pidfd(pid_t pid);

/* The status of a process that was reaped by any process, as wait has it. False where the kernel
 * does not tell it (before Linux 6.15). */
bool process_exit_status(int pidfd, int *ret_status);

/* ==== Signal name ============================================================================= */

/* Signals by name, whatever the C library offers. */

/* "TERM" for 15; NULL for numbers without a name of their own, such as real-time signals. */
const char *signal_name(int number);

/* ==== Dynlib ================================================================================== */

/* A shared library that may or may not be there, and of which any function may be missing: loaded
 * while the program runs, its functions found by a table. */

enum { DYNLIB_NAMES = 3 };

/* One function: where its pointer goes in the caller's struct, and its names, best first. */
struct dynlib_symbol {
    size_t at;
    const char *names[DYNLIB_NAMES + 1]; /* NULL behind the last */
};

/* NULL when it cannot be loaded; why is then a sentence of the loader, cut to size. It stays for as
 * long as the program runs. */
void *dynlib_open(const char *name, char *why, size_t size);

/* A copy of it, and of all it needs, that shares nothing with what the program has loaded. */
void *dynlib_open_apart(const char *name, char *why, size_t size);

void dynlib_close(void *library);

/* Writes the pointers of all that are there, and NULL for those that are not. How many there are.
 */
size_t dynlib_find(void *library, const struct dynlib_symbol *symbols, size_t count,
                   void *functions);
