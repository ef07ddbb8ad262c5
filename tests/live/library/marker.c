/* SPDX-License-Identifier: MIT
 * Marks through the library, each mode for one test:
 *   flood N      N gauges and N events as fast as they go, and one that is taken; prints how many
 *                were not taken, and how many there were
 *   cost N       nanoseconds of a mark and of a getpid, each the best of several rounds of N
 *   threads N    a tracker of this process, N gauges from each of four threads, summary on stdout
 *   phases MS    a tracker of this process, which is busy for so long and then idle
 *   forked       a tracker, and a mark in a forked child: prints what it returns
 *   full N       N marks without a step; prints how many were lost */
#include "toll.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int flood(long n)
{
    long not_taken = 0;
    for (long i = 0; i < n; i++) {
        not_taken += toll_mark_gauge(NULL, "i", (double)i) != 0;
        not_taken += toll_mark_event(NULL, "e", NULL) != 0;
    }
    long all = 2 * n + 1;
    usleep(20000); /* there is room again: this one tells how many were lost */
    for (; toll_mark_event(NULL, "last", NULL) != 0 && not_taken < 3 * n; all++) {
        not_taken++;
        usleep(20000);
    }
    printf("%ld %ld\n", not_taken, all);
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int cost(long n)
{
    double mark = 1e18, call = 1e18;
    for (int round = 0; round < 9; round++) {
        double began = now();
        for (long i = 0; i < n; i++)
            if (toll_mark_phase_begin(NULL, "a phase with a name of its own") != 1)
                return 1;
        double between = now();
        for (long i = 0; i < n; i++)
            syscall(SYS_getpid);
        double ended = now();
        mark = between - began < mark ? between - began : mark;
        call = ended - between < call ? ended - between : call;
    }
    printf("%f %f\n", mark / (double)n, call / (double)n);
    return 0;
}

/* In the background this process measures itself; otherwise the machine, and nobody steps. */
static struct toll_tracker *track(bool background)
{
    struct toll_tracker *t;
    struct toll_options o = {.size = sizeof o, .system = !background};
    struct toll_target self = {.size = sizeof self};
    struct toll_output out = {.size = sizeof out, .fd = 1, .format = "json"};
    if (toll_tracker_new(&t, &o, NULL) < 0 || toll_tracker_add_output(t, &out, NULL) < 0 ||
        (background && toll_tracker_add_target(t, &self, NULL) < 0) ||
        (background ? toll_tracker_start(t, NULL) : toll_tracker_attach(t, NULL)) < 0)
        exit(2);
    return t;
}

static long per_thread;

static void *say(void *tracker)
{
    for (long i = 0; i < per_thread; i++)
        while (toll_mark_gauge(tracker, "from threads", 1) == -11) /* full: again */
            usleep(100);
    return NULL;
}

static int threads(long n)
{
    struct toll_tracker *t = track(true);
    pthread_t ids[4];
    per_thread = n;
    toll_mark_phase_begin(t, "all");
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, say, t);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    toll_mark_phase_end(t, "all");
    toll_tracker_finish(t, NULL);
    int after = toll_mark_gauge(t, "too late", 1);
    toll_tracker_free(t);
    return after != 1;
}

static int phases(long ms)
{
    struct toll_tracker *t = track(true);
    struct timespec used;
    toll_mark_phase_begin(t, "busy");
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
    toll_mark_phase_end(t, "busy");
    toll_mark_phase_begin(t, "idle");
    usleep((useconds_t)ms * 1000);
    toll_mark_phase_end(t, "idle");
    toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    return 0;
}

static int forked(void)
{
    struct toll_tracker *t = track(true);
    pid_t child = fork();
    if (!child)
        _exit(toll_mark_gauge(t, "x", 1) == -3 /* ESRCH */ ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    return WEXITSTATUS(status);
}

static int full(long n)
{
    struct toll_tracker *t = track(false);
    long lost = 0;
    for (long i = 0; i < n; i++)
        lost += toll_mark_event(t, "e", NULL) != 0;
    toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    fprintf(stderr, "%ld\n", lost);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (strcmp(mode, "flood") == 0)
        return flood(n);
    if (strcmp(mode, "cost") == 0)
        return cost(n);
    if (strcmp(mode, "threads") == 0)
        return threads(n);
    if (strcmp(mode, "phases") == 0)
        return phases(n);
    if (strcmp(mode, "full") == 0)
        return full(n);
    return strcmp(mode, "forked") == 0 ? forked() : 3;
}
