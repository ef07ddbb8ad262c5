/* SPDX-License-Identifier: MIT
 * Memory for one tick: handed out in order, emptied at once, kept for the next tick. */
#pragma once

#include "base/util.h"

struct arena_block;

struct arena {
    struct arena_block *first; /* owned chain */
    struct arena_block *current;
};

void arena_done(struct arena *a);

/* Everything handed out becomes invalid; the memory stays. */
void arena_empty(struct arena *a);

/* Zeroed, aligned for anything; NULL when there is no memory. */
void *arena_take(struct arena *a, size_t size);
