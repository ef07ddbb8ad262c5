/* SPDX-License-Identifier: MIT
 * Sends queued chunks to a slow or unreachable destination on its own thread, so that sampling
 * never waits: a chunk is copied into a bounded queue (base/thread.h). When the queue is full, the
 * oldest samples are dropped and counted.
 *
 * The thread hands what has gathered to deliver() as one batch. A failed batch is retried after a
 * time that doubles up to a limit, with jitter. At the end there is a grace period; what is left
 * then goes to leave(), or is dropped. */
#pragma once

#include "base/thread.h"

#include <sys/types.h>

/* Which function of the sink made a chunk. Only CHUNK_FRAME has samples, its weight. */
enum chunk_kind {
    CHUNK_BEGIN,
    CHUNK_HEADING,
    CHUNK_FRAME,
    CHUNK_PROCESS_END,
    CHUNK_MARK,
    CHUNK_NOTE,
    CHUNK_SUMMARY,
};

struct batch {
    const struct chunk *chunks; /* in the order they were added; samples may be missing */
    size_t count;
    uint64_t samples;
    unsigned attempt; /* how often it was tried before */
};

/* Takes a batch off a queue; queue_release() ends it. */
struct batch batch_take(struct queue *q, size_t most_bytes);

/* Whether the summary is in it, the end of the run. */
bool batch_has_end(const struct batch *b);

enum delivery {
    DELIVERY_DONE,
    DELIVERY_AGAIN,   /* retry the same batch later */
    DELIVERY_REFUSED, /* never accepted */
    DELIVERY_KEPT,    /* kept in the spool, or worth keeping there: retrying does not help now */
};

/* What deliver() reports beside its result. */
struct attempt {
    char why[256];     /* unless DELIVERY_DONE: a sentence without a full stop, without secrets */
    uint64_t wait_ns;  /* before the next attempt, as the server asked; 0: the sender decides */
    uint64_t returned; /* samples kept by an earlier batch, delivered now */
    uint64_t rejected; /* samples kept by an earlier batch, refused now */
    bool is_partly;    /* DELIVERY_DONE, except for what is in why */
    uint64_t lacking;  /* samples of the batch that were refused though the rest was delivered */
};

struct sender;

struct sender_plan {
    size_t queue_bytes; /* limit of the queue */
    uint64_t gather_ns; /* how long the first chunk waits for others */
    bool first_at_once; /* the first chunk of all does not wait */
    size_t batch_bytes; /* a batch of this size does not wait; a batch has at least one chunk */
    uint64_t first_wait_ns, longest_wait_ns; /* between attempts; 0: 0.25 s and 30 s */
    const char *thread_name;

    /* Both are called in the thread. The batch is borrowed for the call. */
    enum delivery (*deliver)(void *arg, const struct batch *b, struct attempt *a);
    /* For a batch that is left when the grace period is over: DELIVERY_KEPT, or it is dropped.
     * May be NULL. */
    enum delivery (*leave)(void *arg, const struct batch *b, struct attempt *a);
    void *arg;
};

/* Samples, unless stated otherwise. accepted is the sum of the next four at the end. */
struct sender_counts {
    uint64_t accepted;
    uint64_t delivered;
    uint64_t kept;
    uint64_t refused;
    uint64_t dropped; /* queue full, or no time left */
    uint64_t retries; /* of batches */
    bool is_whole;    /* nothing was refused or dropped, samples or not */
    bool has_kept;    /* the last batch was kept */
    bool has_arrived; /* a batch was delivered or kept */
    char why[256];    /* the last failure, or "" */
};

/* Chunks are accepted, but the thread runs only from sender_start on. 0 or -ENOMEM. */
int sender_new(struct sender **ret, const struct sender_plan *plan);
int sender_start(struct sender *s);

/* Before the start: from now on sender_put waits for room instead of dropping old samples, unless
 * nothing leaves the queue in that time. For callers that have time. */
void sender_wait_for_room(struct sender *s, uint64_t no_progress_ns);

/* Copies the chunk. 0; -ENOBUFS: this or an older one was dropped; -ENOMEM; -ETIMEDOUT: no room in
 * time (see sender_wait_for_room). */
int sender_put(struct sender *s, const struct chunk *chunk);

/* With sender_wait_for_room: waits in the same way until the queue is empty. */
void sender_flush(struct sender *s);

/* No more chunks come; the grace period begins. Does not wait. */
void sender_end(struct sender *s, uint64_t grace_ns);

/* Waits until all is delivered or the grace period is over, and a little longer for leave(). False:
 * the thread is stuck in deliver(). */
bool sender_wait(struct sender *s);

/* Waits until that moment at most. False: it is not done yet. */
bool sender_wait_until(struct sender *s, uint64_t until_ns);

/* Drops what is left. False when the thread is stuck: it frees the sender when it returns, and
 * plan->arg must stay valid forever. Accepts NULL. */
bool sender_free(struct sender *s);

/* For deliver(), from any thread: whether the grace period is over and it should return. */
bool sender_is_over(void *sender);

/* For deliver(), from any thread: whether no more chunks come. */
bool sender_is_ending(void *sender);

/* For deliver(): its result without memory for a request. */
enum delivery sender_lacks_memory(struct attempt *a);

void sender_count(struct sender *s, struct sender_counts *ret);

/* Keeps a message for sender_take_report. */
void sender_report(struct sender *s, const char *message);

/* A message for the user that was not taken yet: that of sender_report, or the first failure, or
 * the first after a success. False: none. */
bool sender_take_report(struct sender *s, char *ret, size_t capacity);

/* 0 before the start. */
pid_t sender_thread(const struct sender *s);
