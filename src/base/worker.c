/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

#include "base/util.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int start(pthread_t *ret, const sigset_t *blocked, size_t stack_bytes, void *(*run)(void *),
                 void *arg)
{
    sigset_t before;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, blocked, &before);
    int r = -pthread_create(ret, &attributes, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return r;
}

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *), void *arg)
{
    sigset_t all;
    sigfillset(&all);
    return start(ret, &all, stack_bytes, run, arg);
}

void worker_init(struct worker *w, const struct worker_plan *plan, void *owner)
{
    *w = (struct worker){.plan = *plan, .owner = owner};
    pthread_mutex_init(&w->lock, NULL);
    wait_init(&w->changed);
}

/* Whether the other side has left already; then it is ours to dispose of. With the lock held. */
static bool let_go(struct worker *w)
{
    bool is_last = !w->is_shared;
    w->is_shared = false;
    worker_unlock(w);
    return is_last;
}

static void *run(void *arg)
{
    struct worker *w = arg;
    if (w->plan.name)
        prctl(PR_SET_NAME, w->plan.name);
    worker_lock(w);
    w->id = (pid_t)syscall(SYS_gettid);
    worker_tell(w);
    worker_unlock(w);
    w->plan.work(w->owner);
    worker_lock(w);
    w->has_ended = true;
    worker_tell(w);
    if (let_go(w))
        w->plan.dispose(w->owner);
    return NULL;
}

int worker_start(struct worker *w)
{
    sigset_t blocked;
    sigfillset(&blocked);
    worker_lock(w);
    int r = start(&w->thread, &blocked, THREAD_STACK_BYTES, run, w);
    w->is_shared = r == 0;
    while (r == 0 && !w->id)
        worker_wait_for_change(w, UINT64_MAX);
    worker_unlock(w);
    return r;
}

/* With the lock held. */
static bool wait_for_end(struct worker *w, uint64_t until_ns)
{
    while (w->id && !w->has_ended && worker_wait_for_change(w, until_ns))
        ;
    return !w->id || w->has_ended;
}

bool worker_wait(struct worker *w, uint64_t until_ns)
{
    worker_lock(w);
    bool has_ended = wait_for_end(w, until_ns);
    worker_unlock(w);
    return has_ended;
}

bool worker_leave(struct worker *w, uint64_t until_ns)
{
    void (*dispose)(void *) = w->plan.dispose;
    void *owner = w->owner;
    pthread_t thread = w->thread;
    bool was_started = w->id;
    worker_lock(w);
    bool has_ended = wait_for_end(w, until_ns);
    bool is_last = let_go(w);
    if (was_started && has_ended)
        pthread_join(thread, NULL); /* it is about to return */
    else if (was_started)
        pthread_detach(thread);
    if (is_last)
        dispose(owner);
    return has_ended;
}

void worker_done(struct worker *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}
