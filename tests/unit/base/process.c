/* SPDX-License-Identifier: MIT */
#include "base/process.h"
#include "base/thread.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- quiet fork ----------------------------------------------------------------------------- */

static int exit_with(void *arg)
{
    return *(const int *)arg;
}

static int stay_for_good(void *arg)
{
    for (;;)
        pause();
    return 0;
}

static void test_quiet_fork_nobody_waits_for_it(void **state)
{
    int three = 3, status;
    pid_t pid = quiet_fork("test", exit_with, &three);
    assert_true(pid > 0);
    assert_int_equal(waitpid(-1, NULL, 0), -1); /* it is none of these children */
    assert_int_equal(errno, ECHILD);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    pid = quiet_fork_child("test", exit_with, &three);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_quiet_fork_end(void **state)
{
    for (unsigned grace_ms = 0; grace_ms < 4; grace_ms += 3) {
        pid_t pid = quiet_fork("test", stay_for_good, NULL);
        assert_true(quiet_fork_shares_memory());
        quiet_fork_end(pid, grace_ms);
        assert_false(quiet_fork_shares_memory());
        assert_int_equal(waitpid(pid, NULL, WNOHANG | __WALL), -1);
        assert_int_equal(kill(pid, 0), -1);
    }
}

/* The other end of a pipe does not wait for it. */
static int keep_one_file(void *arg)
{
    int kept = *(const int *)arg;
    own_files_close_rest(&kept, 1);
    if (write(kept, "x", 1) == 1)
        for (;;)
            pause();
    return 1;
}

static void test_quiet_fork_close_all_but(void **state)
{
    int kept[2], other[2];
    char c;
    assert_int_equal(pipe(kept), 0);
    assert_int_equal(pipe(other), 0);
    pid_t pid = quiet_fork("test", keep_one_file, &kept[1]);
    close(other[1]);
    assert_int_equal(read(kept[0], &c, 1), 1);  /* it has this one */
    assert_int_equal(read(other[0], &c, 1), 0); /* and not that one */
    quiet_fork_end(pid, 0);
    close(kept[0]);
    close(kept[1]);
    close(other[0]);
}

static void *stay(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

/* It may use the C library, whatever our other threads are doing: allocate, load, start threads. */
static int use_library(void *arg)
{
    static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    char *text = malloc(100000);
    bool works = text && dlopen("libm.so.6", RTLD_NOW) &&
                 pthread_create(&thread, NULL, stay, &free_lock) == 0 &&
                 pthread_join(thread, NULL) == 0;
    free(text);
    bool is_written = write(*(const int *)arg, works ? "y" : "n", 1) == 1;
    for (;;)
        pause();
    return is_written;
}

/* In a program with threads it is no child of ours. */
static void test_quiet_fork_whole(void **state)
{
    for (unsigned threads = 0; threads < 2; threads++) {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        pthread_t thread;
        int ends[2];
        char said = 0;
        pthread_mutex_lock(&lock);
        if (threads)
            assert_int_equal(pthread_create(&thread, NULL, stay, &lock), 0);
        assert_int_equal(pipe(ends), 0);
        pid_t pid = quiet_fork_whole(use_library, &ends[1]);
        assert_true(pid > 0 && pid != getpid());
        assert_int_equal(read(ends[0], &said, 1), 1);
        assert_int_equal(said, 'y');
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nor is it met by who waits for all */
        assert_int_equal(errno, ECHILD);
        kill(pid, SIGKILL);
        quiet_fork_end(pid, 0);
        pthread_mutex_unlock(&lock);
        if (threads)
            pthread_join(thread, NULL);
        close(ends[0]);
        close(ends[1]);
    }
}

/* A program that is executed has the descriptors it is given and no others, is no child of ours,
 * and shares no memory with us: nothing of what we have counts as shared. */
static void test_quiet_fork_program(void **state)
{
    char shell[] = "/bin/sh", flag[] = "-c",
         script[] =
             "test ! -e /proc/self/fd/4 -a ! -e /proc/self/fd/7 && echo y >&3; read never <&5";
    char *argv[] = {shell, flag, script, NULL};
    for (unsigned threads = 0; threads < 2; threads++) {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        pthread_t thread;
        int ends[2], stays[2];
        char said = 0;
        pthread_mutex_lock(&lock);
        if (threads)
            assert_int_equal(pthread_create(&thread, NULL, stay, &lock), 0);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(pipe2(stays, O_CLOEXEC), 0);
        assert_true(dup2(ends[0], 7) == 7); /* not closed by exec */
        const int files[] = {ends[1], -1, stays[0]};
        pid_t pid = quiet_fork_program(shell, argv, files, 3);
        assert_true(pid > 0 && pid != getpid());
        close(ends[1]);
        assert_int_equal(read(ends[0], &said, 1), 1);
        assert_int_equal(said, 'y');
        assert_int_equal(kill(pid, 0), 0);
        assert_false(quiet_fork_shares_memory());
        assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
        assert_int_equal(errno, ECHILD);
        close(stays[1]); /* it reads the end of it */
        assert_int_equal(read(ends[0], &said, 1), 1);
        assert_int_equal(read(ends[0], &said, 1), 0);
        pthread_mutex_unlock(&lock);
        if (threads)
            pthread_join(thread, NULL);
        close(ends[0]);
        close(stays[0]);
        close(7);
    }
    assert_int_equal(quiet_fork_program("/nonexistent/program", argv, NULL, 0), -ENOENT);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* it would come back to us */
    assert_int_equal(quiet_fork_program(shell, argv, NULL, 0), -ECHILD);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* ---- signal name ---------------------------------------------------------------------------- */

static void test_signal_name_names(void **state)
{
    (void)state;
    assert_string_equal(signal_name(SIGTERM), "TERM");
    assert_string_equal(signal_name(SIGKILL), "KILL");
    assert_null(signal_name(0));
    assert_null(signal_name(-1));
    assert_null(signal_name(SIGRTMIN));
    assert_null(signal_name(10000));
}

/* ---- dynlib --------------------------------------------------------------------------------- */

struct functions {
    double (*cosine)(double);
    double (*missing)(double);
    double (*other_name)(double);
}

;

static const struct dynlib_symbol symbols[] = {
    {offsetof(struct functions, cosine), {"cos"}},
    {offsetof(struct functions, missing), {"no_such_function", "nor_this_one"}},
    {offsetof(struct functions, other_name), {"no_such_function", "fabs"}},
};

static void test_dynlib_find(void **state)
{
    char why[128] = "";
    void *library = dynlib_open("libm.so.6", why, sizeof why);
    if (!library)
        skip(); /* another C library */
    struct functions f;
    memset(&f, UNTOUCHED, sizeof f);
    assert_int_equal(dynlib_find(library, symbols, 3, &f), 2);
    assert_true(f.cosine(0) == 1);
    assert_null(f.missing);
    assert_true(f.other_name(-2) == 2);
    dlclose(library);
}

static void test_dynlib_apart(void **state)
{
    char why[128] = "";
    void *library = dynlib_open("libm.so.6", why, sizeof why);
    void *apart = dynlib_open_apart("libm.so.6", why, sizeof why);
    if (!library || !apart)
        skip();
    struct functions one, other;
    dynlib_find(library, symbols, 3, &one);
    dynlib_find(apart, symbols, 3, &other);
    assert_true(one.cosine != other.cosine);
    assert_true(other.cosine(0) == 1);
    dynlib_close(apart);
    dynlib_close(library);
    assert_null(dynlib_open_apart("libtoll-no-such-library.so.1", why, sizeof why));
}

static void test_dynlib_not_there(void **state)
{
    char why[128] = "";
    assert_null(dynlib_open("libtoll-no-such-library.so.1", why, sizeof why));
    assert_non_null(strstr(why, "libtoll-no-such-library.so.1"));
    char small[8] = "";
    assert_null(dynlib_open("libtoll-no-such-library.so.1", small, sizeof small));
    assert_int_equal(strlen(small), sizeof small - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_fork_nobody_waits_for_it),
        cmocka_unit_test(test_quiet_fork_end),
        cmocka_unit_test(test_quiet_fork_close_all_but),
        cmocka_unit_test(test_quiet_fork_whole),
        cmocka_unit_test(test_quiet_fork_program),
        cmocka_unit_test(test_signal_name_names),
        cmocka_unit_test(test_dynlib_find),
        cmocka_unit_test(test_dynlib_apart),
        cmocka_unit_test(test_dynlib_not_there),
    };
    return RUN("base/process", tests);
}
