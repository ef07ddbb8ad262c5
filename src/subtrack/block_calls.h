/* SPDX-License-Identifier: MIT
 * Code blocks and their calls, from a sub-tracking file. A stop ends the last call of that block in
 * that process that has not ended, so that blocks may call themselves; a call without an end does
 * not count. */
#pragma once

#include "toll.h"

#include <stdbool.h>
#include <stddef.h>

struct block_call {
    double start, stop; /* seconds since 1970 */
};

struct block {
    char *name;               /* owned */
    struct block_call *calls; /* owned, by process, then by their end */
    size_t call_count;
    struct block_call *spans; /* owned: when any call was under way, in order, none overlapping */
    size_t span_count;
};

struct blocks {
    struct block *list; /* owned, by name */
    size_t count;
};

int blocks_read(struct blocks *ret, const char *path, struct toll_error *e);
void blocks_done(struct blocks *b);

/* For how long a call of it had been under way then, both ends included; NAN: there was none. */
double block_since(const struct block *b, double time);
