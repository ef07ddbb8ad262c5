/* SPDX-License-Identifier: MIT
 * Starting the command, so that it cannot tell the difference. */
#pragma once

#include "toll.h"

struct launched {
    pid_t pid;
    int pidfd; /* -1 before Linux 5.3 */
};

/* Makes the caller a subreaper, forks and executes. On failure nothing is left behind. */
int launch(struct launched *ret, char *const argv[], struct toll_launch *options,
           struct toll_error *e);
