/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdalign.h>
#include <string.h>

/* ==== Growing array =========================================================================== */

/* How many elements an array begins with, a power of two: of large ones hardly more than are used,
 * since all of them are touched. */
static size_t array_least(size_t size)
{
    enum { LARGE_BYTES = 4096 };
    return size < LARGE_BYTES ? 4 : 2;
}

bool array_reserve(void *items, size_t *capacity, size_t wanted, size_t size)
{
    void *old, *moved;
    if (wanted <= *capacity)
        return true;
    size_t more = max_u64(max_u64(wanted, 2 * *capacity), array_least(size));
    memcpy(&old, items, sizeof old); /* a pointer of any type */
    moved = more <= SIZE_MAX / size ? realloc(old, more * size) : NULL;
    if (!moved)
        return false;
    memset((char *)moved + *capacity * size, 0, (more - *capacity) * size);
    memcpy(items, &moved, sizeof moved);
    *capacity = more;
    return true;
}

bool array_grow(void *items, size_t count, size_t size)
{
    bool is_full = !count || (count >= array_least(size) && !(count & (count - 1)));
    return !is_full || array_reserve(items, &count, count + 1, size);
}

bool list_append(void *list, const void *item)
{
    const void **items;
    size_t count = 0;
    memcpy(&items, list, sizeof items);
    while (items && items[count])
        count++;
    /* An item and the NULL after it. */
    if (!array_grow(list, count, sizeof item) || !array_grow(list, count + 1, sizeof item))
        return false;
    memcpy(&items, list, sizeof items);
    items[count] = item;
    items[count + 1] = NULL;
    return true;
}

/* ==== Map ===================================================================================== */

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
static uint32_t map_home(const struct map *m, uint32_t key)
{
    return (uint32_t)((key * UINT64_C(11400714819323198485)) >> 32) & (m->capacity - 1);
}

static uint32_t map_find(const struct map *m, uint32_t key)
{
    uint32_t i = map_home(m, key);
    while (m->slots[i].key && m->slots[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

static int map_grow(struct map *m)
{
    struct map bigger = {.capacity = m->capacity ? m->capacity * 2 : 64, .count = m->count};
    bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
    if (!bigger.slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->slots[i].key)
            bigger.slots[map_find(&bigger, m->slots[i].key)] = m->slots[i];
    free(m->slots);
    *m = bigger;
    return 0;
}

int map_put(struct map *m, uint32_t key, uint32_t value)
{
    if ((m->count + 1) * 4 > m->capacity * 3) {
        int r = map_grow(m);
        if (r < 0)
            return r;
    }
    struct map_slot *slot = &m->slots[map_find(m, key)];
    m->count += !slot->key;
    *slot = (struct map_slot){.key = key, .value = value};
    return 0;
}

bool map_get(const struct map *m, uint32_t key, uint32_t *ret)
{
    if (!m->capacity)
        return false;
    const struct map_slot *slot = &m->slots[map_find(m, key)];
    if (!slot->key)
        return false;
    *ret = slot->value;
    return true;
}

void map_remove(struct map *m, uint32_t key)
{
    if (!m->capacity)
        return;
    uint32_t hole = map_find(m, key);
    if (!m->slots[hole].key)
        return;
    m->count--;
    uint32_t mask = m->capacity - 1;
    for (uint32_t i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
        /* An entry may fill the hole unless its home lies after the hole. */
        if (((i - map_home(m, m->slots[i].key)) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0};
}

/* ==== Arena =================================================================================== */

enum { ARENA_BLOCK_BYTES = 8192 };

struct arena_block {
    struct arena_block *next;
    size_t capacity;
    size_t used;
    alignas(max_align_t) char data[];
};

void arena_done(struct arena *a)
{
    for (struct arena_block *b = a->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena){0};
}

void arena_empty(struct arena *a)
{
    for (struct arena_block *b = a->first; b; b = b->next)
        b->used = 0;
    a->current = a->first;
}

static struct arena_block *arena_add_block(struct arena *a, size_t size)
{
    size_t capacity = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
    struct arena_block *b = malloc(sizeof *b + capacity);
    if (!b)
        return NULL;
    *b = (struct arena_block){.capacity = capacity};
    if (a->current) {
        b->next = a->current->next;
        a->current->next = b;
    } else {
        a->first = b;
    }
    a->current = b;
    return b;
}

void *arena_take(struct arena *a, size_t size)
{
    if (size > PTRDIFF_MAX)
        return NULL;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    struct arena_block *b = a->current;
    while (b && b->capacity - b->used < size && b->next) {
        b = b->next;
        a->current = b;
    }
    if (!b || b->capacity - b->used < size)
        b = arena_add_block(a, size);
    if (!b)
        return NULL;
    void *taken = b->data + b->used;
    b->used += size;
    return memset(taken, 0, size);
}
