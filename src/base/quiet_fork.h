/* SPDX-License-Identifier: MIT
 * Helper processes that the program around us does not notice. */
#pragma once

#include <sys/types.h>

/* A fork without a signal at its end: the program around us gets no SIGCHLD for it, and does not
 * meet it in wait(NULL), unless it asks for such children with __WALL. The program may have
 * threads, and one of them may hold any lock: the child makes system calls only. */
pid_t quiet_fork(void);

/* It dies at once, so that it is not left to a program that knows nothing of it; unless the kernel
 * holds it where no signal reaches it, which is waited for some milliseconds at most. */
void quiet_fork_end(pid_t pid);

/* In the child: it must not keep the pipe open that somebody reads our output from, should it be
 * stuck. */
void quiet_fork_close_all_but(int fd);
