/* SPDX-License-Identifier: MIT
 * Starting the command, so that it notices no difference. */
#pragma once

#include "toll.h"

struct launched {
    pid_t pid;
    int pidfd; /* -1 before Linux 5.3 */
};

/* Where the child is born, and what is done before it executes the command. */
struct launch_hook {
    int cgroup; /* directory of a cgroup of version 2 that it is born in; -1: that of the caller */
    /* Called with the child, which waits for that. NULL: none. is_needed false: it is called only
     * where the child could not be born in the cgroup. 0, or -errno with a sentence: the command is
     * not started. */
    int (*call)(void *arg, pid_t child, bool born_inside, struct toll_error *e);
    void *arg;
    bool is_needed;
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
