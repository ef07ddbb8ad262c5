/* SPDX-License-Identifier: MIT
 * A bounded queue of chunks of bytes, first in, first out. Chunks are copied in. When there is no
 * room for one, the oldest chunks with a weight are dropped; chunks without a weight stay.
 *
 * The queue has no lock: its owner has one. Nodes are reused, so that a queue that keeps up
 * allocates nothing. */
#pragma once

#include "base/util.h"

struct chunk {
    unsigned kind;   /* the caller's */
    unsigned weight; /* what is lost when it is dropped, such as the number of samples; 0: it is not
                      * dropped */
    const char *data;
    size_t length;
};

struct queue_node;

struct queue {
    size_t limit_bytes;
    size_t bytes;             /* of all chunks, with what they take beside their data */
    struct queue_node *first; /* NULL: empty */
    struct queue_node **end;
    struct queue_node *spare;
    unsigned spare_count;
    struct queue_node *taken; /* since queue_take */
    struct chunk *chunks;     /* owned; what was taken */
};

/* The queue does not move afterwards. 0 or -ENOMEM. */
int queue_init(struct queue *q, size_t limit_bytes);
void queue_done(struct queue *q);

/* What a chunk of that length takes of the limit. */
size_t queue_cost(size_t length);

static inline bool queue_is_empty(const struct queue *q)
{
    return !q->first;
}

/* When the oldest chunk was added, by the monotonic clock. The queue must not be empty. */
uint64_t queue_oldest_ns(const struct queue *q);

/* Adds a copy. is_forced: an empty queue takes a chunk of any size. *dropped grows by the weight of
 * the chunks that were dropped for it. 0; -ENOBUFS, -ENOMEM: it was not added. */
int queue_add(struct queue *q, const struct chunk *chunk, bool is_forced, uint64_t *dropped);

/* Takes the oldest chunks off, up to that many bytes of data but at least one. *ret is valid until
 * queue_release, which must come before the next call. Returns their number. */
size_t queue_take(struct queue *q, size_t most_bytes, const struct chunk **ret);
void queue_release(struct queue *q);
