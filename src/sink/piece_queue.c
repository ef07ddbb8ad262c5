/* SPDX-License-Identifier: MIT */
#include "sink/piece_queue.h"

#include "base/clock.h"

#include <string.h>

enum { SPARE_NODES = 64, BATCH_PIECES = 4096 };

/* A piece on its way. Nodes are used again, so that whoever keeps up allocates nothing. */
struct piece_node {
    struct piece_node *next;
    size_t capacity, length;
    enum piece_of of;
    unsigned samples;
    uint64_t put_ns;
    char data[];
};

int piece_queue_init(struct piece_queue *q, size_t limit_bytes)
{
    *q = (struct piece_queue){.limit_bytes = limit_bytes, .behind_last = &q->first};
    q->pieces = calloc(BATCH_PIECES, sizeof *q->pieces);
    return q->pieces ? 0 : -ENOMEM;
}

static void free_nodes(struct piece_node *n)
{
    for (struct piece_node *next; n; n = next) {
        next = n->next;
        free(n);
    }
}

void piece_queue_done(struct piece_queue *q)
{
    free_nodes(q->first);
    free_nodes(q->spare);
    free_nodes(q->batch);
    free(q->pieces);
}

static size_t size_of(const struct piece_node *n)
{
    return sizeof *n + n->length;
}

size_t piece_queue_size(const struct piece *p)
{
    return sizeof(struct piece_node) + p->length;
}

uint64_t piece_queue_since(const struct piece_queue *q)
{
    return q->first->put_ns;
}

static struct piece_node *make_node(struct piece_queue *q, size_t length)
{
    struct piece_node **link = &q->spare;
    while (*link && (*link)->capacity < length)
        link = &(*link)->next;
    struct piece_node *n = *link;
    if (n) {
        *link = n->next;
        q->spare_count--;
        return n;
    }
    size_t capacity = length + length / 4 + 64;
    n = malloc(sizeof *n + capacity);
    if (n)
        n->capacity = capacity;
    return n;
}

static void put_back(struct piece_queue *q, struct piece_node *n)
{
    if (q->spare_count >= SPARE_NODES) {
        struct piece_node *one = q->spare;
        q->spare = one->next;
        q->spare_count--;
        free(one);
    }
    n->next = q->spare;
    q->spare = n;
    q->spare_count++;
}

/* The oldest sample; what is no sample stays. False when there is none. */
static bool drop_oldest(struct piece_queue *q, uint64_t *dropped)
{
    struct piece_node **link = &q->first;
    while (*link && !(*link)->samples)
        link = &(*link)->next;
    struct piece_node *n = *link;
    if (!n)
        return false;
    *link = n->next;
    if (!*link)
        q->behind_last = link;
    q->waiting_bytes -= size_of(n);
    *dropped += n->samples;
    put_back(q, n);
    return true;
}

/* Whether there is room for it, or can be made. Pieces that are no samples are few and small: they
 * may use as much again. */
static bool make_room(struct piece_queue *q, const struct piece *p, uint64_t *dropped)
{
    size_t size = piece_queue_size(p);
    while (q->waiting_bytes + size > q->limit_bytes)
        if (!drop_oldest(q, dropped))
            return !p->samples && q->waiting_bytes + size <= 2 * q->limit_bytes;
    return true;
}

int piece_queue_put(struct piece_queue *q, const struct piece *p, bool is_forced, uint64_t *dropped)
{
    if (!(is_forced && !q->first) && !make_room(q, p, dropped))
        return -ENOBUFS;
    struct piece_node *n = make_node(q, p->length);
    if (!n)
        return -ENOMEM;
    n->next = NULL;
    n->length = p->length;
    n->of = p->of;
    n->samples = p->samples;
    n->put_ns = clock_mono(NULL);
    memcpy(n->data, p->data, p->length);
    *q->behind_last = n;
    q->behind_last = &n->next;
    q->waiting_bytes += size_of(n);
    return 0;
}

struct batch piece_queue_take(struct piece_queue *q, size_t most)
{
    struct batch b = {.pieces = q->pieces};
    struct piece_node **link = &q->batch;
    size_t bytes = 0;
    while (q->first && b.count < BATCH_PIECES && (!b.count || bytes + q->first->length <= most)) {
        struct piece_node *n = q->first;
        q->first = n->next;
        q->waiting_bytes -= size_of(n);
        bytes += n->length;
        b.samples += n->samples;
        q->pieces[b.count++] = (struct piece){n->of, n->samples, n->data, n->length};
        *link = n;
        link = &n->next;
    }
    *link = NULL;
    if (!q->first)
        q->behind_last = &q->first;
    return b;
}

void piece_queue_return(struct piece_queue *q)
{
    for (struct piece_node *n = q->batch, *next; n; n = next) {
        next = n->next;
        put_back(q, n);
    }
    q->batch = NULL;
}

bool batch_has_end(const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (b->pieces[i].of == PIECE_SUMMARY)
            return true;
    return false;
}
