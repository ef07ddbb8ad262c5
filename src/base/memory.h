/* SPDX-License-Identifier: MIT
 * Memory that grows: arrays, the arena of a tick, a map from numbers to numbers. */
#pragma once

#include "base/util.h"

/* ==== Growing array =========================================================================== */

/* Room for `wanted` elements in an array that has its capacity, a size_t, beside it. Room that is
 * new is zero. False without memory; the array is unchanged then. */
#define ARRAY_RESERVE(items, capacity, wanted)                                                     \
    array_reserve(&(items), &(capacity), (wanted), sizeof *(items))

/* Room for one more element after `count`, in an array without a capacity: it has the room of the
 * next power of two. For arrays that are filled once, since one that is emptied and filled again
 * would be allocated again. */
#define ARRAY_GROW(items, count) array_grow(&(items), (count), sizeof *(items))

/* `items` is the address of the pointer to the first element. Use the macros. */
bool array_reserve(void *items, size_t *capacity, size_t wanted, size_t size);
bool array_grow(void *items, size_t count, size_t size);

/* Appends to a NULL-terminated array of pointers that only this function has made; `list` is the
 * address of the pointer to it, which is NULL at first. False without memory. */
bool list_append(void *list, const void *item);

/* ==== Arena =================================================================================== */

/* Memory for one tick: handed out in order, emptied at once, kept for the next tick. */

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
