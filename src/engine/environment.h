/* SPDX-License-Identifier: MIT
 * What a command finds in its environment beside what toll itself has. */
#pragma once

#include <stddef.h>

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
