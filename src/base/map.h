/* SPDX-License-Identifier: MIT
 * A small hash map from a number that is not 0 (a pid) to a number. Open addressing, linear
 * probing, deletion by shifting back: no tombstones, so it never slows down with age. */
#pragma once

#include "base/util.h"

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
