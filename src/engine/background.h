/* SPDX-License-Identifier: MIT
 * A tracker on a thread of its own, the sampler; a second one, the callback thread, calls the
 * program's callback.
 *
 * The sampler has descriptors of its own: it opens, reads and closes everything, also at the end.
 * So a tracker that was started is only ever taken apart there. What others read of the tracker
 * they read under its lock, which the sampler holds while it works and leaves while it sleeps, and
 * while it writes the summary at the end. */
#pragma once

#include "base/thread.h"
#include "engine/frame_copy.h"
#include "source/proc/own.h"

#include <pthread.h>

struct toll_tracker;

/* ==== Frame queue ============================================================================= */

/* Frames on their way from the sampler to whoever wants them: the last one, and those that wait to
 * be taken in order. A reader that is slow loses the oldest, never holds up the sampler. */

enum { NOTES_THAT_WAIT = 32 };

/* A sentence for the same reader. */
struct queued_note {
    char *sentence; /* owned; NULL: there is none */
    bool is_ending; /* of what becomes of an output at the end, which may have */
    bool has_failed;
};

struct frame_queue {
    pthread_mutex_t lock;
    pthread_cond_t came;
    struct frame_copy *latest;
    struct frame_copy **ring; /* owned, capacity of them; NULL: none are kept */
    size_t capacity;
    size_t first, count;
    uint64_t dropped;
    struct queued_note notes[NOTES_THAT_WAIT];
    size_t note_count;
    bool is_over; /* no more will come */
};

/* 0 or -ENOMEM. */
int frame_queue_init(struct frame_queue *q, size_t capacity);
void frame_queue_done(struct frame_queue *q);

/* Takes the frame over, and writes into it how many were dropped. */
void frame_queue_put(struct frame_queue *q, struct frame_copy *frame);

/* There was no memory for one: it counts as dropped. */
void frame_queue_lose(struct frame_queue *q);
void frame_queue_end(struct frame_queue *q);

/* With a copy of the sentence; there is room for more than are ever sent. */
void frame_queue_put_note(struct frame_queue *q, const char *sentence);
void frame_queue_put_ending(struct frame_queue *q, bool has_failed, const char *sentence);

/* Until there is a note, or a frame, or neither will come: false then. */
bool frame_queue_wait(struct frame_queue *q, bool for_frames);

/* The oldest note, whose sentence the caller frees; false: there is none. */
bool frame_queue_take_note(struct frame_queue *q, struct queued_note *ret);

/* The last one, held once more; NULL: there was none yet. */
struct frame_copy *frame_queue_latest(struct frame_queue *q);

/* The oldest that waits, for the caller to release. NULL when there was none for so many
 * milliseconds (-1: however long it takes) or none will come. */
struct frame_copy *frame_queue_next(struct frame_queue *q, int timeout_ms);

/* ==== Background ============================================================================== */

struct background {
    bool is_on;         /* toll_tracker_start was called */
    bool has_own_files; /* the kernel allowed it */
    bool has_callback_thread;
    pthread_t sampler, callback_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* one of those below */
    bool begun;             /* … or failed to: result and error */
    bool ended;             /* all targets have */
    bool stop;              /* asked for */
    bool finished;
    bool is_deaf; /* the program closed its end of the pipe */
    bool leave;   /* asked for: take everything apart */
    int result;   /* of the beginning, then of the end */
    struct toll_error error;
    pid_t starter_id; /* the thread in toll_tracker_start, which waits until it has begun */
    pid_t sampler_id, callback_id;
    int woken;              /* the sampler's end of a pipe */
    struct known_file wake; /* the program's */
    struct frame_queue frames;
};

/* As toll_tracker_start says. */
int background_start(struct toll_tracker *t, struct toll_error *e);

/* Have the sampler step soon; from any thread. Nothing is done for a tracker without one. */
void background_wake(struct toll_tracker *t);

/* Take the last sample and write the summary, on the sampler. What finishing returned. */
int background_finish(struct toll_tracker *t);

/* End the threads; the sampler closes whatever is open. */
void background_end(struct toll_tracker *t);

/* Whether this is the thread that calls the program's callbacks. */
bool background_is_callback_thread(const struct background *b);

/* While other threads read of the tracker. Does nothing for one without a sampler. */
void background_lock(struct background *b);
void background_unlock(struct background *b);

/* ==== Own threads ============================================================================= */

/* The threads that a tracker has beside the one that samples: what they use is not the job's. */

/* arg: the tracker. How many there are, which may be more than fit into ret. */
size_t own_threads_list(const void *arg, pid_t ret[OWN_THREADS_AT_MOST]);

/* CPU time of them together. */
uint64_t own_threads_cpu_ns(const struct toll_tracker *t);

/* A program that measures itself leaves them out; once they are all started. */
void own_threads_leave_out(struct toll_tracker *t);
