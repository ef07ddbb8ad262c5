/* SPDX-License-Identifier: MIT
 * Start a command, measure it with its descendants, and exit with its exit status. No thread is
 * started: the tracker's descriptor works with any poll(2) loop.
 *
 *   run_command COMMAND [ARGUMENT…] */
#include <toll.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>

static void on_note(void *arg, const char *sentence)
{
    (void)arg;
    fprintf(stderr, "run_command: %s\n", sentence);
}

/* Runs until the command has ended. */
static int measure(struct toll_tracker *t)
{
    struct pollfd ready = {.fd = toll_tracker_fd(t), .events = POLLIN};
    int r;
    while ((r = toll_tracker_step(t)) == TOLL_RUNNING)
        poll(&ready, 1, -1);
    return r;
}

static void print_figure(struct toll_tracker *t, const char *name)
{
    struct toll_figure f = {.size = sizeof f};
    if (toll_tracker_figure(t, name, &f) == 0)
        fprintf(stderr, "%s %.15g (%s)\n", name, f.total, f.quality_word);
}

int main(int argc, char **argv)
{
    struct toll_options options = {.size = sizeof options, .note = on_note};
    struct toll_output summary = {.size = sizeof summary, .fd = 2, .format = "text"};
    struct toll_launch launch = {.size = sizeof launch};
    struct toll_end end = {.size = sizeof end};
    struct toll_tracker *t = NULL;
    struct toll_error e;

    if (argc < 2) {
        fprintf(stderr, "usage: run_command COMMAND [ARGUMENT…]\n");
        return 125;
    }
    if (toll_tracker_new(&t, &options, &e) < 0 || toll_tracker_add_output(t, &summary, &e) < 0 ||
        toll_tracker_launch(t, argv + 1, &launch, &e) < 0) {
        fprintf(stderr, "run_command: %s\n", e.message);
        toll_tracker_free(t);
        return launch.exec_errno == ENOENT ? 127 : launch.exec_errno ? 126 : 125;
    }
    if (measure(t) < 0)
        fprintf(stderr, "run_command: measuring failed\n");
    toll_tracker_finish(t, &end); /* the summary goes to stderr */
    print_figure(t, "target_cpu_seconds");
    print_figure(t, "target_io_written_bytes");
    toll_tracker_free(t);
    return end.signaled ? 128 + end.status : end.status;
}
