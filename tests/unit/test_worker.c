/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/util.h"
#include "unit.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LONG_MS = 20000 }; /* for what comes soon unless the machine is very busy */

static atomic_int disposed;
static sigset_t blocked; /* in the thread */

struct owner {
    struct worker worker;
    bool may_end;
};

static void work(void *arg)
{
    struct owner *o = arg;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    pthread_mutex_lock(&o->worker.lock);
    while (!o->may_end)
        pthread_cond_wait(&o->worker.changed, &o->worker.lock);
    pthread_mutex_unlock(&o->worker.lock);
}

static void dispose(void *arg)
{
    struct owner *o = arg;
    worker_done(&o->worker);
    free(o);
    disposed++;
}

static struct owner *make(void)
{
    struct owner *o = calloc(1, sizeof *o);
    assert_non_null(o);
    worker_init(&o->worker,
                &(struct worker_plan){.name = "worker", .work = work, .dispose = dispose}, o);
    disposed = 0;
    return o;
}

static void let_end(struct owner *o)
{
    pthread_mutex_lock(&o->worker.lock);
    o->may_end = true;
    pthread_cond_broadcast(&o->worker.changed);
    pthread_mutex_unlock(&o->worker.lock);
}

static void test_the_owner_leaves_last(void **state)
{
    struct owner *o = make();
    assert_int_equal(worker_start(&o->worker), 0);
    assert_true(o->worker.id > 0);
    assert_false(worker_wait(&o->worker, wait_until(1)));
    let_end(o);
    assert_true(worker_wait(&o->worker, wait_until(LONG_MS)));
    assert_int_equal(disposed, 0);
    assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGSEGV));
    assert_true(worker_leave(&o->worker, wait_until(LONG_MS)));
    assert_int_equal(disposed, 1);
}

/* As one that hangs in a call. */
static void test_the_thread_leaves_last(void **state)
{
    struct owner *o = make();
    assert_int_equal(worker_start(&o->worker), 0);
    assert_false(worker_leave(&o->worker, wait_until(1)));
    assert_int_equal(disposed, 0);
    let_end(o); /* the thread has not, so it is still there */
    for (unsigned i = 0; i < LONG_MS && !disposed; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(disposed, 1);
    assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGSEGV));
}

static void test_never_started(void **state)
{
    struct owner *o = make();
    assert_true(worker_wait(&o->worker, wait_until(0)));
    assert_true(worker_leave(&o->worker, wait_until(0)));
    assert_int_equal(disposed, 1);
}

static void *note_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return arg;
}

static void test_signals_are_the_programs(void **state)
{
    pthread_t thread;
    sigset_t mask, before, after;
    sigemptyset(&mask);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(thread_start(&thread, 0, note_mask, &mask), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGSEGV));
    assert_int_equal(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_owner_leaves_last),
        cmocka_unit_test(test_the_thread_leaves_last),
        cmocka_unit_test(test_never_started),
        cmocka_unit_test(test_signals_are_the_programs),
    };
    return RUN("worker", tests);
}
