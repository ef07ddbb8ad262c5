/* SPDX-License-Identifier: MIT
 * Pieces that wait to be sent, up to so many bytes: when there is no room, the oldest samples go.
 * What is no sample (a heading, a summary) stays, and stays in its place. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* What a piece is of: which function of the sink made it. */
enum piece_of {
    PIECE_BEGIN,
    PIECE_HEADING,
    PIECE_FRAME,
    PIECE_PROCESS_END,
    PIECE_MARK,
    PIECE_NOTE,
    PIECE_SUMMARY,
};

struct piece {
    enum piece_of of;
    unsigned samples; /* 1 for a frame, otherwise 0 */
    const char *data; /* borrowed for the call */
    size_t length;
};

struct batch {
    const struct piece *pieces; /* in the order they were put in; samples may be missing */
    size_t count;
    uint64_t samples;
    unsigned attempt; /* 0 at first, then how often it was tried before */
};

/* Whether the end of the run is in it. */
bool batch_has_end(const struct batch *b);

struct piece_node;

struct piece_queue {
    size_t limit_bytes;
    size_t waiting_bytes;
    struct piece_node *first, **behind_last;
    struct piece_node *spare;
    unsigned spare_count;
    struct piece_node *batch;
    struct piece *pieces; /* owned; of the batch */
};

/* Does not move afterwards. 0 or -ENOMEM. */
int piece_queue_init(struct piece_queue *q, size_t limit_bytes);
void piece_queue_done(struct piece_queue *q);

/* What waiting takes of the limit. */
size_t piece_queue_size(const struct piece *p);

static inline bool piece_queue_is_empty(const struct piece_queue *q)
{
    return !q->first;
}

/* When the first one was put in; not of an empty queue. */
uint64_t piece_queue_since(const struct piece_queue *q);

/* Copies the piece; an empty queue takes any size when is_forced. *dropped grows by the samples
 * that had to go. 0; -ENOBUFS, -ENOMEM: it was not put in. */
int piece_queue_put(struct piece_queue *q, const struct piece *p, bool is_forced,
                    uint64_t *dropped);

/* Takes the first ones off, up to so many bytes but at least one. There is one batch at a time. */
struct batch piece_queue_take(struct piece_queue *q, size_t bytes);

/* The batch is not needed any more. */
void piece_queue_return(struct piece_queue *q);
