/* SPDX-License-Identifier: MIT
 * Threads of our own in a program that is not ours. Signals are the program's affair: all are
 * blocked in them.
 *
 * A worker is one that may hang in what it calls (a driver, a server). Its owner never waits for it
 * for good: whichever of the two leaves last disposes of what they share. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ==== Wait ==================================================================================== */

/* Waiting for another thread, by the monotonic clock. */

void wait_init(pthread_cond_t *condition);

/* The end of a time that begins now; a negative one never ends. */
uint64_t wait_until(int timeout_ms);

/* False when the time is over. May return without a reason, as conditions do. */
bool wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

/* ==== Worker ================================================================================== */

enum { THREAD_STACK_BYTES = 1024 * 1024 };

/* stack_bytes: 0 for the program's own measure. 0 or a negative errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *arg), void *arg);

struct worker_plan {
    const char *name;             /* of the thread, or NULL */
    void (*work)(void *owner);    /* in the thread, without the lock */
    void (*dispose)(void *owner); /* of everything, the worker too */
};

/* Part of what its owner is; read with the lock held. */
struct worker {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something of what both share */
    pid_t id;               /* of the thread; 0 before it was started. Stays, needs no lock. */
    bool has_ended;
    bool is_shared; /* both are there */
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

/* With the lock held, as the next one. */
static inline void worker_tell(struct worker *w)
{
    pthread_cond_broadcast(&w->changed);
}

/* False when the time is over. May return without a reason, as conditions do. */
static inline bool worker_wait_for_change(struct worker *w, uint64_t until_ns)
{
    return wait_for(&w->changed, &w->lock, until_ns);
}

/* Returns when the thread runs. 0 or a negative errno; then there is none, and the owner has to
 * dispose of itself. */
int worker_start(struct worker *w);

/* … until then at most. Whether the thread has ended, or never began. */
bool worker_wait(struct worker *w, uint64_t until_ns);

/* The owner leaves, after it has waited until then at most for a thread that knows it should end.
 * Nothing of the owner may be used afterwards. What worker_wait says. */
bool worker_leave(struct worker *w, uint64_t until_ns);

/* For dispose(). */
void worker_done(struct worker *w);

/* ==== Own files =============================================================================== */

/* Descriptors of a thread's own, which the rest of the program neither sees nor closes. */

/* From now on the calling thread has descriptors of its own: the ones in keep, which must be in
 * rising order, and nothing else but /dev/null for those below 3. from: another thread of this
 * program, which has the descriptors of the program and does not end meanwhile. 0, or -errno when
 * the table cannot be shown to be separate, and nothing was closed. */
int own_files_only(const int *keep, size_t count, pid_t from);

/* The same for a process that was forked: its table is its own already. */
void own_files_close_rest(const int *keep, size_t count);

/* A descriptor of a program that may close it, and open something else under its number. */
struct known_file {
    int fd;
    dev_t device;
    ino_t inode;
};

void known_file_set(struct known_file *f, int fd);

struct stat;

/* Whether that is what fstat tells of the file. */
bool known_file_is(const struct known_file *f, const struct stat *st);

/* Whether the number still is that file. */
bool known_file_is_there(const struct known_file *f);

/* Unless it is somebody else's by now. */
void known_file_close(struct known_file *f);
