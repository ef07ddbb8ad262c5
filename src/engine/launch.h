/* SPDX-License-Identifier: MIT
 * Starting the command, so that it notices no difference. */
#pragma once

#include "toll.h"

struct launched {
    pid_t pid;
    int pidfd; /* -1 before Linux 5.3 */
};

/* Called with the child before it executes the command, which waits for that. */
struct launch_hook {
    void (*call)(void *arg, pid_t child); /* NULL: none */
    void *arg;
};

/* Makes the caller a subreaper, forks and executes. environment NULL: that of this program. hook
 * NULL: none. On failure nothing is left behind. */
int launch(struct launched *ret, char *const argv[], char *const environment[],
           struct toll_launch *options, const struct launch_hook *hook, struct toll_error *e);

/* ==== Environment ============================================================================= */

/* What a command finds in its environment beside what toll itself has. */

/* "NAME=value" strings, each of which replaces one that is there. */
struct environment {
    char **more; /* owned strings */
    size_t count;
};

/* Copies. 0 or -ENOMEM. */
int environment_add(struct environment *e, const char *variable);

/* The whole of it, in an array that is the caller's; its strings are borrowed. NULL without memory.
 */
char **environment_make(const struct environment *e);

void environment_done(struct environment *e);
