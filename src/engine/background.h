/* SPDX-License-Identifier: MIT
 * A tracker on a thread of its own, the sampler; a second one, the teller, calls the program's
 * callback.
 *
 * The sampler has descriptors of its own: it opens, reads and closes everything, also at the end.
 * So a tracker that was started is only ever taken apart there. What others read of the tracker
 * they read under its lock, which the sampler holds while it works and leaves while it sleeps, and
 * while it writes the summary at the end. */
#pragma once

#include "base/own_files.h"
#include "engine/frame_queue.h"

#include <pthread.h>

struct background {
    bool is_on;         /* toll_tracker_start was called */
    bool has_own_files; /* the kernel allowed it */
    bool has_teller;
    pthread_t sampler, teller;
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
    pid_t sampler_id;
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
bool background_is_teller(const struct toll_tracker *t);

/* While others read of the tracker. Does nothing for one without a sampler. */
void background_lock(struct toll_tracker *t);
void background_unlock(struct toll_tracker *t);
