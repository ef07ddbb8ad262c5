/* SPDX-License-Identifier: MIT
 * A program with many threads that measures itself at 1 kHz: every sample is there, or told as
 * missed; nothing is counted twice, and its CPU time is that of its threads.
 *
 *   many_threads THREADS MILLISECONDS
 *
 * Prints what it found; exit status 1 when something is not as it should be. */
#include "toll.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What threads use when they come and go is not on their clocks; sanitizers work there, too, and
 * the one for threads has one of its own, which counts as the program's. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define SLACK 0.1
#else
#define SLACK 0.03
#endif

static atomic_bool stop;
static atomic_ulong used_ns;

static unsigned long ns_on(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (unsigned long)ts.tv_sec * 1000000000UL + (unsigned long)ts.tv_nsec;
}

/* Some work, some sleep, as threads have it. */
static void *work(void *arg)
{
    (void)arg;
    while (!stop) {
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
        usleep(2000);
    }
    used_ns += ns_on(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

struct seen {
    unsigned long frames, gaps, dropped, missed, elapsed_ns;
    unsigned long cpu_ns; /* of the thread that calls back, which counts as the program's */
    bool last;
};

static void on_frame(void *arg, const struct toll_frame *frame)
{
    struct seen *s = arg;
    s->gaps += frame->number - s->frames; /* minus what was told as dropped, below */
    s->frames = frame->number + 1;
    s->dropped = frame->dropped;
    s->missed = frame->missed;
    s->elapsed_ns = frame->elapsed_ns;
    s->last = frame->last;
    s->cpu_ns = ns_on(CLOCK_THREAD_CPUTIME_ID);
}

static void *nothing(void *arg)
{
    return arg;
}

/* Before the work begins; a sanitizer has one of its own from the first one on. */
static double threads_now(void)
{
    struct toll_target self = {.size = sizeof self};
    struct toll_frame *frame;
    pthread_t first;
    if (pthread_create(&first, NULL, nothing, NULL) || pthread_join(first, NULL) ||
        toll_snapshot(&frame, &self, NULL, NULL))
        return -1;
    double threads = -1;
    toll_frame_get(frame, "main_threads", &threads);
    toll_frame_free(frame);
    return threads;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    unsigned ms = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2000;
    struct seen seen = {0};
    struct toll_options o = {
        .size = sizeof o, .interval_ns = 1000000, .frame = on_frame, .frame_arg = &seen};
    struct toll_target self = {.size = sizeof self};
    struct toll_figure cpu = {.size = sizeof cpu}, most = {.size = sizeof most};
    struct toll_figure own = {.size = sizeof own};
    struct toll_tracker *t;
    struct toll_error e;
    double others = threads_now();
    if (toll_tracker_new(&t, &o, &e) || toll_tracker_add_target(t, &self, &e) ||
        toll_tracker_start(t, &e)) {
        fprintf(stderr, "many_threads: %s\n", e.message);
        return 1;
    }
    unsigned long main_before = ns_on(CLOCK_THREAD_CPUTIME_ID);
    pthread_t *all = calloc(threads, sizeof *all);
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, work, NULL))
            return 1;
    usleep(ms * 1000);
    stop = true;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    free(all);
    used_ns += ns_on(CLOCK_THREAD_CPUTIME_ID) - main_before;
    int r = toll_tracker_finish(t, NULL);
    toll_tracker_figure(t, "target_cpu_seconds", &cpu);
    toll_tracker_figure(t, "target_threads", &most);
    toll_tracker_figure(t, "self_cpu_seconds", &own);
    toll_tracker_free(t);

    /* A sample is due every millisecond, the first after one, and the last one is extra. */
    double due = (double)seen.elapsed_ns / 1e6, had = (double)(seen.frames + seen.missed);
    double truth = (double)(used_ns + seen.cpu_ns) / 1e9;
    printf("%lu frames, %lu missed, %lu dropped, %.0f due; %.4f s CPU, threads used %.4f s; at "
           "most %.0f threads; the tracker used %.4f s\n",
           seen.frames, seen.missed, seen.dropped, due, cpu.total, truth, most.max, own.total);
    bool right = r == 0 && seen.last && seen.gaps == seen.dropped && fabs(due - had) <= 2 &&
                 most.max == threads + others && fabs(cpu.total - truth) <= SLACK * truth + 0.02;
    return right ? 0 : 1;
}
