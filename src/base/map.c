/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <string.h>

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

void map_clear(struct map *m)
{
    if (m->slots)
        memset(m->slots, 0, m->capacity * sizeof *m->slots);
    m->count = 0;
}

/* Fibonacci hashing: pids come in runs, the multiplication spreads them. */
static uint32_t home(const struct map *m, uint32_t key)
{
    return (uint32_t)((key * UINT64_C(11400714819323198485)) >> 32) & (m->capacity - 1);
}

static uint32_t find(const struct map *m, uint32_t key)
{
    uint32_t i = home(m, key);
    while (m->slots[i].key && m->slots[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

static int grow(struct map *m)
{
    struct map bigger = {.capacity = m->capacity ? m->capacity * 2 : 64, .count = m->count};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->slots[i].key)
            bigger.slots[find(&bigger, m->slots[i].key)] = m->slots[i];
    free(m->slots);
    *m = bigger;
    return 0;
}

int map_put(struct map *m, uint32_t key, uint32_t value)
{
    if ((m->count + 1) * 4 > m->capacity * 3) {
        int r = grow(m);
        if (r < 0)
            return r;
    }
    struct map_slot *slot = &m->slots[find(m, key)];
    m->count += !slot->key;
    *slot = (struct map_slot){.key = key, .value = value};
    return 0;
}

bool map_get(const struct map *m, uint32_t key, uint32_t *ret)
{
    if (!m->capacity)
        return false;
    const struct map_slot *slot = &m->slots[find(m, key)];
    if (!slot->key)
        return false;
    *ret = slot->value;
    return true;
}

void map_remove(struct map *m, uint32_t key)
{
    if (!m->capacity)
        return;
    uint32_t hole = find(m, key);
    if (!m->slots[hole].key)
        return;
    m->count--;
    uint32_t mask = m->capacity - 1;
    for (uint32_t i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
        /* An entry may fill the hole unless its home lies after the hole. */
        if (((i - home(m, m->slots[i].key)) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0};
}
