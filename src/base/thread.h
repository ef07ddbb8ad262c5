/* SPDX-License-Identifier: MIT
 * Threads of the library in a program that is not ours. All signals are blocked in them: signals
 * belong to the program.
 *
 * A worker is a thread that may hang in what it calls (a driver, a server). Its owner never waits
 * for it without a limit: the one of the two that leaves last disposes of what they share. */
#pragma once

#include "base/util.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ==== Wait ==================================================================================== */

/* Waiting for another thread, by the monotonic clock. */

void wait_init(pthread_cond_t *condition);

/* The time in timeout_ms from now; a negative timeout never ends. */
uint64_t wait_until(int timeout_ms);

/* False when the time is over. May return early, as conditions do. */
bool wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

/* ==== Worker ================================================================================== */

enum { THREAD_STACK_BYTES = 1024 * 1024 };

/* stack_bytes: 0 for the default of the program. 0 or -errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *arg), void *arg);

/* Waits for the end of a thread, until the kernel does not count it any more either. id: where the
 * thread has put its id; read when it has ended. */
void thread_join(pthread_t thread, const pid_t *id);

struct worker_plan {
    const char *name;             /* of the thread, or NULL */
    void (*work)(void *owner);    /* runs in the thread, without the lock */
    void (*dispose)(void *owner); /* frees everything, the worker included */
};

/* Embedded in its owner; read with the lock held. */
struct worker {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something that both share */
    pid_t id;               /* of the thread; 0 before the start, then constant: needs no lock */
    bool has_ended;
    bool is_shared; /* neither has left */
    pthread_t thread;
    struct worker_plan plan;
    void *owner;
};

void worker_init(struct worker *w, const struct worker_plan *plan, void *owner);

static inline void worker_lock(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
}

static inline void worker_unlock(struct worker *w)
{
    pthread_mutex_unlock(&w->lock);
}

/* Wakes the other side. With the lock held, like worker_wait_for_change. */
static inline void worker_wake(struct worker *w)
{
    pthread_cond_broadcast(&w->changed);
}

/* False when the time is over. May return early, as conditions do. */
static inline bool worker_wait_for_change(struct worker *w, uint64_t until_ns)
{
    return wait_for(&w->changed, &w->lock, until_ns);
}

/* Returns when the thread runs. 0, or -errno: there is no thread, and the owner has to dispose of
 * itself. */
int worker_start(struct worker *w);

/* Waits until that time at most. Whether the thread has ended, or never began. */
bool worker_wait(struct worker *w, uint64_t until_ns);

/* The owner leaves, after waiting until that time at most for a thread that was asked to end. The
 * owner may not be used afterwards. Returns what worker_wait does. */
bool worker_leave(struct worker *w, uint64_t until_ns);

/* Called by dispose(). */
void worker_done(struct worker *w);

/* ==== Own files =============================================================================== */

/* Gives the calling thread a table of descriptors of its own, which the rest of the program neither
 * sees nor closes: those in keep, in ascending order, and /dev/null for those below 3. from:
 * another thread of this program, which has the program's descriptors and does not end meanwhile.
 * 0, or -errno when the table cannot be shown to be separate; then nothing was closed. */
int own_files_only(const int *keep, size_t count, pid_t from);

/* The same for a forked process, whose table is its own already. System calls only. */
void own_files_close_rest(const int *keep, size_t count);

/* A descriptor that the program may close, and reuse the number of. */
struct known_file {
    int fd;
    dev_t device;
    ino_t inode;
};

void known_file_set(struct known_file *f, int fd);

struct stat;

/* Whether the result of fstat is that of the file. */
bool known_file_is(const struct known_file *f, const struct stat *st);

/* Whether the number still is that file. */
bool known_file_is_there(const struct known_file *f);

/* Closes the descriptor unless its number is another file by now. */
void known_file_close(struct known_file *f);

/* ==== Queue =================================================================================== */

/* A bounded queue of chunks of bytes, first in, first out. Chunks are copied in. When there is no
 * room for one, the oldest chunks with a weight are dropped; chunks without a weight stay.
 * The queue has no lock: its owner has one. Nodes are reused, so that a queue that keeps up
 * allocates nothing. */

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
