/* SPDX-License-Identifier: MIT
 * Starting the command, so that it cannot tell the difference. */
#pragma once

#include "toll.h"

struct launched {
    pid_t pid;
    int pidfd; /* -1 before Linux 5.3 */
};

/* A descriptor that tells of the end of a process; -1 where the kernel, or its headers, are older
 * than Linux 5.3. */
int launch_open_pidfd(pid_t pid);

/* Makes the caller a subreaper, forks and executes. environment NULL: that of this program. On
 * failure nothing is left behind. */
int launch(struct launched *ret, char *const argv[], char *const environment[],
           struct toll_launch *options, struct toll_error *e);
