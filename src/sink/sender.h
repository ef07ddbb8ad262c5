/* SPDX-License-Identifier: MIT
 * Brings pieces to a place that may be slow, away or dead, in a thread of its own, so that whoever
 * samples never waits: a piece is copied into a bounded queue and that is all. When the queue is
 * full the oldest samples go, and are counted.
 *
 * The thread takes what has gathered, hands it to deliver() as one batch, and tries again later
 * when it should: after a time that doubles up to a limit, and is never the same for two. At the
 * end it has a stated grace, after which what is left is put aside by the kind, or dropped. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* ==== Piece queue ============================================================================= */

/* Pieces that wait to be sent, up to so many bytes: when there is no room, the oldest samples go.
 * What is no sample (a heading, a summary) stays, and stays in its place. */

/* What a piece is of: which function of the sink made it. */
enum chunk_of {
    CHUNK_BEGIN,
    CHUNK_HEADING,
    CHUNK_FRAME,
    CHUNK_PROCESS_END,
    CHUNK_MARK,
    CHUNK_NOTE,
    CHUNK_SUMMARY,
};

struct chunk {
    enum chunk_of of;
    unsigned samples; /* 1 for a frame, otherwise 0 */
    const char *data; /* borrowed for the call */
    size_t length;
};

struct batch {
    const struct chunk *chunks; /* in the order they were put in; samples may be missing */
    size_t count;
    uint64_t samples;
    unsigned attempt; /* 0 at first, then how often it was tried before */
};

/* Whether the end of the run is in it. */
bool batch_has_end(const struct batch *b);

struct chunk_node;

struct chunk_queue {
    size_t limit_bytes;
    size_t waiting_bytes;
    struct chunk_node *first, **behind_last;
    struct chunk_node *spare;
    unsigned spare_count;
    struct chunk_node *batch;
    struct chunk *chunks; /* owned; of the batch */
};

/* Does not move afterwards. 0 or -ENOMEM. */
int chunk_queue_init(struct chunk_queue *q, size_t limit_bytes);
void chunk_queue_done(struct chunk_queue *q);

/* What waiting takes of the limit. */
size_t chunk_queue_size(const struct chunk *p);

static inline bool chunk_queue_is_empty(const struct chunk_queue *q)
{
    return !q->first;
}

/* When the first one was put in; not of an empty queue. */
uint64_t chunk_queue_since(const struct chunk_queue *q);

/* Copies the piece; an empty queue takes any size when is_forced. *dropped grows by the samples
 * that had to go. 0; -ENOBUFS, -ENOMEM: it was not put in. */
int chunk_queue_put(struct chunk_queue *q, const struct chunk *p, bool is_forced,
                    uint64_t *dropped);

/* Takes the first ones off, up to so many bytes but at least one. There is one batch at a time. */
struct batch chunk_queue_take(struct chunk_queue *q, size_t bytes);

/* The batch is not needed any more. */
void chunk_queue_return(struct chunk_queue *q);

/* ==== Sender ================================================================================= */

/* What came of a batch. */
enum delivery {
    DELIVERY_DONE,
    DELIVERY_AGAIN,   /* try again with the same batch, later */
    DELIVERY_REFUSED, /* it will never be taken */
    DELIVERY_KEPT,    /* put aside by the kind, to be delivered by somebody else */
};

struct attempt {
    char why[256];     /* unless it was done: a sentence without a full stop, and without secrets */
    uint64_t wait_ns;  /* … before the next one, when the other side said so; 0: as we like */
    uint64_t returned; /* samples that were kept before, and are delivered now … */
    uint64_t rejected; /* … and those that will never be */
    bool is_partly;    /* done, but for something; why tells what … */
    uint64_t lacking;  /* … and of how many samples of the batch; they count as refused */
};

struct sender;

struct sender_plan {
    size_t queue_bytes; /* that may wait; then the oldest samples are dropped */
    uint64_t gather_ns; /* how long the first piece waits for others */
    bool first_at_once; /* … but the very first of all does not */
    size_t batch_bytes; /* … nor when so many are there; at least one piece */
    uint64_t first_wait_ns, longest_wait_ns; /* between attempts; 0: 0.25 s and 30 s */
    const char *thread_name;

    /* Both are called in the thread. The batch is borrowed for the call. */
    enum delivery (*deliver)(void *arg, const struct batch *b, struct attempt *a);
    /* The grace is over, and this is left: DELIVERY_KEPT, or it is dropped. NULL: dropped. */
    enum delivery (*leave)(void *arg, const struct batch *b, struct attempt *a);
    void *arg;
};

/* In samples, but for the last. */
struct sender_counts {
    uint64_t taken; /* put into the queue */
    uint64_t delivered;
    uint64_t kept;
    uint64_t refused;
    uint64_t dropped; /* the queue was full, or time was up */
    uint64_t retries; /* attempts after the first, of batches */
    bool is_whole;    /* nothing was refused or dropped, samples or anything else */
    bool has_kept;    /* … but the last of it was kept */
    char why[256];    /* the last failure, or "" */
};

/* The thread is not started yet; pieces are taken. 0 or -ENOMEM. */
int sender_new(struct sender **ret, const struct sender_plan *plan);
int sender_start(struct sender *c);

/* Before the start: putting waits for room from now on, instead of dropping what is old, unless
 * nothing was taken off the queue in that time. Not for whoever measures. */
void sender_wait_for_room(struct sender *c, uint64_t no_progress_ns);

/* Copies the piece. 0, -ENOBUFS when this or an older one had to be dropped, -ENOMEM; -ETIMEDOUT
 * when it was waited for room in vain. */
int sender_put(struct sender *c, const struct chunk *p);

/* Waits in the same way until the queue is empty. */
void sender_flush(struct sender *c);

/* No more pieces come: what is there has so much time left. Does not wait. */
void sender_end(struct sender *c, uint64_t grace_ns);

/* Until all is delivered or the time is over. False: the thread is stuck in deliver(). */
bool sender_wait(struct sender *c);

/* … but not beyond that moment. False: it is not done yet. */
bool sender_wait_until(struct sender *c, uint64_t until_ns);

/* Ends at once what is left. False when the thread is stuck: then it frees the sender when it
 * comes back, and plan->arg has to stay for good. Accepts NULL. */
bool sender_free(struct sender *c);

/* For deliver(): whether time is up, and it had better return. From any thread. */
bool sender_is_over(void *sender);

/* … what it returns when there is no memory for what is to be sent. */
enum delivery sender_lacks_memory(struct attempt *a);

/* … and whether nothing more comes, so that it is not worth waiting for what will not change. */
bool sender_is_ending(void *sender);

void sender_count(struct sender *c, struct sender_counts *ret);

/* Something that somebody should be told, as if it was a failure. Before the start. */
void sender_tell(struct sender *c, const char *why);

/* A failure that nobody was told of yet; the first, and the first after things went well. */
bool sender_says(struct sender *c, char *ret, size_t capacity);

/* 0 before the start. */
pid_t sender_thread(const struct sender *c);
