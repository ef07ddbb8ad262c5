/* SPDX-License-Identifier: MIT */
#include "cli/crash.h"

#include "base/util.h"

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void *raise_it(void *number)
{
    raise(*(int *)number);
    return NULL;
}

static void *hang(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* What becomes of a program that does this in a thread, or in the first one. */
static int status_of(int number, bool in_thread, bool blocked)
{
    pid_t child = fork();
    if (child == 0) {
        static int signal_number;
        sigset_t mask;
        pthread_t thread;
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal_number = number;
        signal(number, SIG_DFL); /* the tests, and the sanitizers, have handlers of their own */
        crash_contain();
        sigemptyset(&mask);
        sigaddset(&mask, number);
        if (in_thread && pthread_create(&thread, NULL, raise_it, &signal_number) != 0)
            _exit(99);
        if (blocked) /* as while a command runs */
            pthread_sigmask(SIG_BLOCK, &mask, NULL);
        if (!in_thread)
            raise(number);
        sleep_ms(100);
        crash_exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static void test_a_thread_alone_stops(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        int status = status_of(faults[i], true, true);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 7);
    }
}

static void test_the_first_one_ends_the_program(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        int status = status_of(faults[i], false, false);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), faults[i]);
    }
}

/* Sent by somebody else it is the program's, whichever thread it came to. */
static void test_signals_from_outside_are_handed_on(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        sigset_t mask;
        pthread_t thread;
        signal(SIGSEGV, SIG_DFL);
        crash_contain();
        sigemptyset(&mask);
        sigaddset(&mask, SIGSEGV);
        if (pthread_create(&thread, NULL, hang, NULL))
            _exit(99);
        pthread_sigmask(SIG_BLOCK, &mask, NULL);
        pid_t sender = fork();
        if (sender == 0) {
            kill(getppid(), SIGSEGV);
            _exit(0);
        }
        sleep_ms(100); /* time for the thread, which has not blocked it */
        siginfo_t info = {0};
        bool got = sigtimedwait(&mask, &info, &(struct timespec){20, 0}) == SIGSEGV;
        _exit(got && info.si_pid == sender && info.si_code <= 0 ? 7 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* A thread that hangs is left behind, and nobody who would wait for it is asked. */
static void wait_for_ever(void)
{
    hang(NULL);
}

static void test_end_with_a_thread_left(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        if (atexit(wait_for_ever) || pthread_create(&thread, NULL, hang, NULL))
            _exit(99);
        crash_exit(5);
    }
    int status = 0;
    for (unsigned i = 0; i < 2000 && waitpid(child, &status, WNOHANG) == 0; i++)
        sleep_ms(5);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_alone_stops),
        cmocka_unit_test(test_the_first_one_ends_the_program),
        cmocka_unit_test(test_signals_from_outside_are_handed_on),
        cmocka_unit_test(test_end_with_a_thread_left),
    };
    return RUN("crash", tests);
}
