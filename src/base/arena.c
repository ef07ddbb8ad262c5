/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

enum { BLOCK_BYTES = 8192 };

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

static struct arena_block *add_block(struct arena *a, size_t size)
{
    size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
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
        b = add_block(a, size);
    if (!b)
        return NULL;
    void *taken = b->data + b->used;
    b->used += size;
    return memset(taken, 0, size);
}
