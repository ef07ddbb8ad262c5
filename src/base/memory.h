/* SPDX-License-Identifier: MIT
 * Memory for one tick: handed out in order, emptied at once, kept for the next tick. */
#pragma once

#include "base/util.h"

/* ==== Arena =================================================================================== */

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

/* ==== Map ===================================================================================== */

/* A small hash map from a number that is not 0 (a pid) to a number. Open addressing, linear
 * probing, deletion by shifting back: no tombstones, so it never slows down with age. */

struct map_slot {
    uint32_t key; /* 0 = free */
    uint32_t value;
};

struct map {
    struct map_slot *slots;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t count;
};

void map_done(struct map *m);

/* 0 or -ENOMEM; replaces what was there. */
int map_put(struct map *m, uint32_t key, uint32_t value);
bool map_get(const struct map *m, uint32_t key, uint32_t *ret);
void map_remove(struct map *m, uint32_t key);
void map_clear(struct map *m);
