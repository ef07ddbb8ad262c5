/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "mlflow_place.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

static unsigned forks;

static void count_fork(void)
{
    forks++;
}

/* One of this program's children, 0: there is none. */
static int find_child(void)
{
    DIR *d = opendir("/proc");
    int found = 0;
    for (struct dirent *e; !found && (e = readdir(d));) {
        char path[300], text[512];
        int pid, parent;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = fopen(path, "r");
        if (!f)
            continue;
        const char *behind = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
        if (behind && sscanf(text, "%d", &pid) == 1 && sscanf(behind, ") %*c %d", &parent) == 1 &&
            parent == getpid())
            found = pid;
        fclose(f);
    }
    closedir(d);
    return found;
}

struct witness {
    struct http_server *server;
    atomic_bool is_over;
    unsigned long long blocked;
};

/* Once the helper has asked the server, it is looked at, and has done its duty. */
static void *look_at_helper(void *arg)
{
    struct witness *w = arg;
    for (unsigned asked = 0; !asked && !atomic_load(&w->is_over); usleep(1000)) {
        pthread_mutex_lock(&w->server->lock);
        asked = w->server->requests;
        pthread_mutex_unlock(&w->server->lock);
    }
    char path[64], line[256];
    int helper = find_child();
    snprintf(path, sizeof path, "/proc/%d/status", helper);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "SigBlk: %llx", &w->blocked);
    if (f)
        fclose(f);
    if (helper)
        kill(helper, SIGKILL);
    return NULL;
}

/* Ctrl-C is for toll, which has a handler that its helper would run as well. */
static void test_signals_are_not_for_the_helper(void **state)
{
    struct sample s;
    struct http_server server;
    pthread_t thread;
    sample_make(&s, NULL);
    server_start(&server);
    server_answer(&server, NULL);
    struct sink *sink = open_at(&s, &server, ",wait=60s,spool=none");
    sink->run = &s.run;
    struct witness w = {.server = &server};
    assert_int_equal(pthread_create(&thread, NULL, look_at_helper, &w), 0);
    assert_null(sink->kind->environment(sink));
    atomic_store(&w.is_over, true);
    pthread_join(thread, NULL);
    assert_true(w.blocked >> (SIGINT - 1) & 1);
    assert_true(w.blocked >> (SIGTERM - 1) & 1);
    sigset_t own;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &own), 0);
    assert_false(sigismember(&own, SIGINT));
    assert_int_equal(find_child(), 0);
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

/* The C library has to know of it, so that no lock of another thread's is held in the helper. */
static void test_a_program_with_threads(void **state)
{
    struct sample s;
    struct http_server server;
    sample_make(&s, NULL);
    server_start(&server); /* a thread */
    server_answer(&server, fine);
    forks = 0;
    struct sink *sink = open_at(&s, &server, ",wait=20s,spool=none");
    sink->run = &s.run;
    const char *const *variables = sink->kind->environment(sink);
    assert_non_null(variables);
    assert_string_equal(variables[0], "MLFLOW_RUN_ID=ab-1");
    assert_int_equal(forks, 1);
    sink_close(sink, false);
    server_stop(&server);
    sample_remove(&s);
}

/* … and one without does not notice. */
static void test_a_program_without_threads(void **state)
{
    struct sample s;
    struct stat st;
    sample_make(&s, NULL);
    struct sink *sink = open_or_skip(&s, "mlflow:http://127.0.0.1:9,wait=20s,spool=none");
    sink->run = &s.run;
    forks = 0;
    assert_null(sink->kind->environment(sink));
    assert_int_equal(stat("/proc/self/task", &st), 0);
    if (st.st_nlink == 3) /* sanitizers may have a thread */
        assert_int_equal(forks, 0);
    sink_close(sink, false);
    sample_remove(&s);
}

int main(void)
{
    forget_variables();
    pthread_atfork(count_fork, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_without_threads),
        cmocka_unit_test(test_a_program_with_threads),
        cmocka_unit_test(test_signals_are_not_for_the_helper),
    };
    return RUN("mlflow_early", tests);
}
