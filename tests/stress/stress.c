/* SPDX-License-Identifier: MIT
 * Many trackers at once, from many threads, with marks, readers and forks: for the sanitizers, and
 * for the promises of toll.h about threads.
 *
 *   stress ROUNDS THREADS
 *
 * Prints a line for each kind of thing that was not as it should be; exit status 1 then. */
#include "toll.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_uint failures;
static unsigned rounds;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fprintf(stderr, "stress.c:%d: not so: %s\n", __LINE__, #condition);                    \
        }                                                                                          \
    } while (0)

/* ---- What is done to one tracker --------------------------------------------------------------
 */

struct shared {
    struct toll_tracker *t;
    atomic_bool stop;
    atomic_uint frames;
};

static void on_frame(void *arg, const struct toll_frame *frame)
{
    struct shared *s = arg;
    s->frames++;
    CHECK(frame->row_count > 0);
    toll_mark_gauge(s->t, "frames", s->frames);
}

static void *mark(void *arg)
{
    struct shared *s = arg;
    static const char *const words[] = {"by=stress", NULL};
    while (!s->stop) {
        CHECK(toll_mark_phase_begin(s->t, "outer") >= 0);
        CHECK(toll_mark_phase_begin(s->t, "inner") >= 0);
        toll_mark_event(s->t, "something", words);
        toll_mark_phase_end(s->t, "inner");
        toll_mark_phase_end(s->t, "outer");
        usleep(200);
    }
    return NULL;
}

static void *look(void *arg)
{
    struct shared *s = arg;
    struct toll_figure f = {.size = sizeof f};
    struct toll_frame *frame;
    double before = 0;
    while (!s->stop) {
        char *text = NULL;
        CHECK(toll_tracker_figure(s->t, "target_cpu_seconds", &f) == 0);
        CHECK(!(f.total < before)); /* a total never falls */
        before = f.total > 0 ? f.total : before;
        CHECK(toll_tracker_report(s->t, "json", 0, &text, NULL) == 0);
        free(text);
        if (toll_tracker_frame(s->t, &frame) == 0)
            toll_frame_free(frame);
        usleep(500);
    }
    return NULL;
}

static void fork_some(struct shared *s)
{
    for (unsigned i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            bool right = toll_mark_event(s->t, "from a fork", NULL) == -ESRCH &&
                         toll_tracker_finish(s->t, NULL) == -ESRCH;
            toll_tracker_free(s->t);
            _exit(right ? 0 : 1);
        }
        int status = -1;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
}

/* ---- One thread of the program ----------------------------------------------------------------
 */

static void one_life(unsigned round)
{
    struct shared s = {0};
    struct toll_options o = {.size = sizeof o,
                             .interval_ns = 1000000,
                             .frame = round % 2 ? on_frame : NULL,
                             .frame_arg = &s,
                             .system = round % 5 == 4,
                             .frames_kept = round % 3 ? 8 : 0};
    struct toll_target self = {.size = sizeof self};
    struct toll_error e = {0};
    pthread_t marker, looker;
    CHECK(toll_tracker_new(&s.t, &o, &e) == 0);
    CHECK(toll_tracker_add_target(s.t, &self, &e) == 0);
    if (toll_tracker_start(s.t, &e) != 0) {
        fprintf(stderr, "stress: %s\n", e.message);
        failures++;
        toll_tracker_free(s.t);
        return;
    }
    CHECK(pthread_create(&marker, NULL, mark, &s) == 0);
    CHECK(pthread_create(&looker, NULL, look, &s) == 0);
    fork_some(&s);
    usleep(10000);
    s.stop = true;
    pthread_join(marker, NULL);
    pthread_join(looker, NULL);
    if (round % 4) {
        CHECK(toll_tracker_finish(s.t, NULL) == 0);
        CHECK(!o.frame || s.frames > 0);
    }
    toll_tracker_free(s.t);
}

static void *live(void *arg)
{
    (void)arg;
    struct toll_target self = {.size = sizeof self};
    for (unsigned round = 0; round < rounds; round++) {
        struct toll_frame *frame;
        one_life(round);
        CHECK(toll_snapshot(&frame, &self, NULL, NULL) == 0);
        toll_frame_free(frame);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 4;
    pthread_t *all = calloc(threads, sizeof *all);
    for (unsigned i = 0; all && i < threads; i++)
        CHECK(pthread_create(&all[i], NULL, live, NULL) == 0);
    for (unsigned i = 0; all && i < threads; i++)
        pthread_join(all[i], NULL);
    free(all);
    return failures ? 1 : 0;
}
