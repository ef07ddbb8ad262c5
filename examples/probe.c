/* SPDX-License-Identifier: MIT
 * Repeated readings of a process: files stay open in between, and nothing runs in the background.
 * For programs with a loop of their own, such as a supervisor or a game.
 *
 *   probe PID TIMES MILLISECONDS */
#include <toll.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: probe PID TIMES MILLISECONDS\n");
        return 2;
    }
    struct toll_target target = {.size = sizeof target, .id = atoi(argv[1])};
    struct toll_options options = {
        .size = sizeof options,
        .metrics = "cpu_seconds,memory_rss_bytes", /* other metrics are not read */
        .processes = TOLL_PROCESSES_NONE,
    };
    /* Resolve names once; a misspelt one is a negative number. */
    int cpu = toll_metric_find("target", "cpu_seconds");
    int rss = toll_metric_find("target", "memory_rss_bytes");
    struct toll_probe *probe;
    struct toll_frame *frame;
    struct toll_error e;
    int r = toll_probe_new(&probe, &target, &options, &e);
    if (r < 0) {
        fprintf(stderr, "probe: %s\n", e.message);
        return 1;
    }
    for (int i = 0; i < atoi(argv[2]); i++) {
        r = toll_probe_read(probe, &frame);
        if (r < 0)
            break;
        const struct toll_row *whole = toll_frame_row(frame, 0);
        printf("%.15g %.15g\n", toll_row_value(whole, cpu), toll_row_value(whole, rss));
        fflush(stdout);
        toll_frame_free(frame);
        usleep((useconds_t)atoi(argv[3]) * 1000);
    }
    toll_probe_free(probe);
    if (r == -ESRCH)
        puts("process has ended");
    else if (r < 0)
        fprintf(stderr, "probe: %s\n", strerror(-r));
    return r < 0 && r != -ESRCH;
}
