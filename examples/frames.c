/* SPDX-License-Identifier: MIT
 * A callback for each sample, on a thread of its own. A slow callback delays neither the program
 * nor a sample; it misses frames and gets their number.
 *
 *   frames [MILLISECONDS that the callback takes] */
#include <toll.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct watcher {
    useconds_t delay_us;
    unsigned long calls, dropped, missed, last_number;
    double cpu_seconds, rss_peak_bytes;
};

static void on_frame(void *arg, const struct toll_frame *frame)
{
    struct watcher *w = arg;
    double rss;
    toll_frame_get(frame, "target_memory_rss_bytes", &rss);
    w->calls++;
    w->dropped = frame->dropped; /* taken, but the callback was too slow */
    w->missed = frame->missed;   /* due, but the machine was too busy */
    w->last_number = frame->number;
    toll_frame_get(frame, "target_cpu_seconds", &w->cpu_seconds);
    if (rss > w->rss_peak_bytes) /* false for NAN, an unknown value */
        w->rss_peak_bytes = rss;
    if (frame->last)
        puts("this was the last frame");
    usleep(w->delay_us);
}

static void work(void)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < 300000000);
}

int main(int argc, char **argv)
{
    struct watcher watcher = {.delay_us = argc > 1 ? (useconds_t)atoi(argv[1]) * 1000 : 0};
    struct toll_options options = {
        .size = sizeof options,
        .interval_ns = 2000000,
        .frame = on_frame,
        .frame_arg = &watcher,
        .frames_kept = 8, /* queued while the callback is busy */
    };
    struct toll_target self = {.size = sizeof self};
    struct toll_tracker *t = NULL;
    struct toll_error e;

    if (toll_tracker_new(&t, &options, &e) < 0 || toll_tracker_add_target(t, &self, &e) < 0 ||
        toll_tracker_start(t, &e) < 0) {
        fprintf(stderr, "frames: %s\n", e.message);
        toll_tracker_free(t);
        return 1;
    }
    work();
    toll_tracker_finish(t, NULL); /* returns after the callback for the last frame */
    toll_tracker_free(t);

    printf("frames %lu\n", watcher.last_number + 1);
    printf("calls %lu\n", watcher.calls);
    printf("dropped %lu\n", watcher.dropped);
    printf("missed %lu\n", watcher.missed);
    printf("target_cpu_seconds %.15g\n", watcher.cpu_seconds);
    printf("target_memory_rss_bytes %.15g\n", watcher.rss_peak_bytes);
    return 0;
}
