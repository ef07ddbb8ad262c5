/* SPDX-License-Identifier: MIT */
#include "base/queue.h"

#include "base/clock.h"

#include <string.h>

enum { QUEUE_SPARE_NODES = 64, QUEUE_TAKE_CHUNKS = 4096 };

struct queue_node {
    struct queue_node *next;
    size_t capacity, length;
    unsigned kind, weight;
    uint64_t added_ns;
    char data[];
};

int queue_init(struct queue *q, size_t limit_bytes)
{
    *q = (struct queue){.limit_bytes = limit_bytes, .end = &q->first};
    q->chunks = calloc(QUEUE_TAKE_CHUNKS, sizeof *q->chunks);
    return q->chunks ? 0 : -ENOMEM;
}

void queue_done(struct queue *q)
{
    struct queue_node *lists[] = {q->first, q->spare, q->taken};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct queue_node *n = lists[i], *next; n; n = next) {
            next = n->next;
            free(n);
        }
    free(q->chunks);
}

size_t queue_cost(size_t length)
{
    return sizeof(struct queue_node) + length;
}

uint64_t queue_oldest_ns(const struct queue *q)
{
    return q->first->added_ns;
}

static void queue_reuse(struct queue *q, struct queue_node *n)
{
    if (q->spare_count >= QUEUE_SPARE_NODES) {
        struct queue_node *oldest = q->spare;
        q->spare = oldest->next;
        q->spare_count--;
        free(oldest);
    }
    n->next = q->spare;
    q->spare = n;
    q->spare_count++;
}

/* Drops old chunks until there is room. Chunks without a weight are few and small: they may use as
 * much room again. */
static bool queue_make_room(struct queue *q, const struct chunk *chunk, uint64_t *dropped)
{
    size_t cost = queue_cost(chunk->length);
    while (q->bytes + cost > q->limit_bytes) {
        struct queue_node **link = &q->first;
        while (*link && !(*link)->weight)
            link = &(*link)->next;
        struct queue_node *n = *link;
        if (!n)
            return !chunk->weight && q->bytes + cost <= 2 * q->limit_bytes;
        *link = n->next;
        if (!*link)
            q->end = link;
        q->bytes -= queue_cost(n->length);
        *dropped += n->weight;
        queue_reuse(q, n);
    }
    return true;
}

int queue_add(struct queue *q, const struct chunk *chunk, bool is_forced, uint64_t *dropped)
{
    if (!(is_forced && !q->first) && !queue_make_room(q, chunk, dropped))
        return -ENOBUFS;
    struct queue_node **link = &q->spare;
    while (*link && (*link)->capacity < chunk->length)
        link = &(*link)->next;
    struct queue_node *n = *link;
    if (n) {
        *link = n->next;
        q->spare_count--;
    } else {
        size_t capacity = chunk->length + chunk->length / 4 + 64;
        n = malloc(sizeof *n + capacity);
        if (!n)
            return -ENOMEM;
        n->capacity = capacity;
    }
    n->next = NULL;
    n->length = chunk->length;
    n->kind = chunk->kind;
    n->weight = chunk->weight;
    n->added_ns = clock_mono(NULL);
    memcpy(n->data, chunk->data, chunk->length);
    *q->end = n;
    q->end = &n->next;
    q->bytes += queue_cost(n->length);
    return 0;
}

size_t queue_take(struct queue *q, size_t most_bytes, const struct chunk **ret)
{
    struct queue_node **link = &q->taken;
    size_t count = 0, bytes = 0;
    while (q->first && count < QUEUE_TAKE_CHUNKS &&
           (!count || bytes + q->first->length <= most_bytes)) {
        struct queue_node *n = q->first;
        q->first = n->next;
        q->bytes -= queue_cost(n->length);
        bytes += n->length;
        q->chunks[count++] = (struct chunk){n->kind, n->weight, n->data, n->length};
        *link = n;
        link = &n->next;
    }
    *link = NULL;
    if (!q->first)
        q->end = &q->first;
    *ret = q->chunks;
    return count;
}

void queue_release(struct queue *q)
{
    for (struct queue_node *n = q->taken, *next; n; n = next) {
        next = n->next;
        queue_reuse(q, n);
    }
    q->taken = NULL;
}
