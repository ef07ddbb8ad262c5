/* SPDX-License-Identifier: MIT
 * What the calls of the library cost a program: CPU time of one, the least of several rounds, and
 * what a tracker in the background needs. Prints a table. */
#include "toll.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 7 };

static const struct toll_options alone = {
    .size = sizeof alone,
    .no_children = true,
    .processes = TOLL_PROCESSES_NONE,
    .memory = TOLL_MEMORY_RSS,
};
static struct toll_target self = {.size = sizeof self};
static struct toll_target other = {.size = sizeof other};
static struct toll_tracker *tracker;
static struct toll_probe *own_probe, *other_probe;

static double cpu_seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void must(int r)
{
    if (r < 0) {
        fprintf(stderr, "library: %s\n", strerror(-r));
        exit(1);
    }
}

/* ---- One call each --------------------------------------------------------------------------- */

static void look(const struct toll_target *target, const struct toll_options *o)
{
    struct toll_frame *frame;
    must(toll_snapshot(&frame, target, o, NULL));
    toll_frame_free(frame);
}

static void look_again(struct toll_probe *p)
{
    struct toll_frame *frame;
    must(toll_probe_read(p, &frame));
    toll_frame_free(frame);
}

static void snapshot_self(void)
{
    look(&self, &alone);
}

static void probe_self(void)
{
    look_again(own_probe);
}

static void snapshot_other(void)
{
    look(&other, &alone);
}

static void probe_other(void)
{
    look_again(other_probe);
}

static void snapshot_machine(void)
{
    look(NULL, NULL);
}

static void start(const struct toll_options *o)
{
    must(toll_tracker_new(&tracker, o, NULL));
    must(toll_tracker_add_target(tracker, &self, NULL));
    must(toll_tracker_start(tracker, NULL));
}

static void whole_life(void)
{
    struct toll_options o = {.size = sizeof o};
    start(&o);
    must(toll_tracker_finish(tracker, NULL));
    toll_tracker_free(tracker);
}

static void figure(void)
{
    struct toll_figure f = {.size = sizeof f};
    must(toll_tracker_figure(tracker, "target_cpu_seconds", &f));
}

static void last_frame(void)
{
    struct toll_frame *frame;
    must(toll_tracker_frame(tracker, &frame));
    toll_frame_free(frame);
}

static void report(void)
{
    char *text;
    must(toll_tracker_report(tracker, "json", 0, &text, NULL));
    free(text);
}

static void mark(void)
{
    toll_mark_event(NULL, "no listener", NULL);
}

static void measure(const char *title, void (*call)(void), unsigned times)
{
    double least = 1e9;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double before = cpu_seconds();
        for (unsigned i = 0; i < times; i++)
            call();
        double each = (cpu_seconds() - before) / times;
        least = each < least ? each : least;
    }
    printf("%-52s %8.2f µs\n", title, least * 1e6);
}

/* ---- A tracker in the background ------------------------------------------------------------- */

static unsigned entries(const char *path)
{
    unsigned count = 0;
    DIR *dir = opendir(path);
    while (dir && readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Read without the library: what that needs would be there already. */
static unsigned long private_kib(void)
{
    unsigned long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Dirty: %lu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib;
}

static double total(const char *name)
{
    struct toll_figure f = {.size = sizeof f};
    must(toll_tracker_figure(tracker, name, &f));
    return f.total;
}

/* It sleeps: what a sample costs when nothing has changed but the time. */
static void measure_background(void)
{
    struct toll_options o = {.size = sizeof o, .interval_ns = 10000000};
    unsigned fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    unsigned long kib = private_kib();
    start(&o);
    usleep(300000);
    double cpu = total("self_cpu_seconds"), samples = total("self_ticks");
    usleep(2000000);
    cpu = (total("self_cpu_seconds") - cpu) / (total("self_ticks") - samples);
    printf("%-52s %8.2f µs\n", "a sample in the background, the program asleep", cpu * 1e6);
    printf("%-52s %8lu KiB\n", "memory of a tracker", private_kib() - kib);
    printf("%-52s %8u\n", "threads", entries("/proc/self/task") - threads);
    printf("%-52s %8u\n", "descriptors of the program", entries("/proc/self/fd") - fds);
    measure("toll_tracker_figure", figure, 1000);
    measure("toll_tracker_frame", last_frame, 1000);
    measure("toll_tracker_report, JSON", report, 100);
    toll_tracker_free(tracker);
}

int main(void)
{
    unsetenv("TOLL_SOCKET");
    other.id = fork();
    if (other.id == 0) {
        pause();
        _exit(0);
    }
    measure_background(); /* first: memory that was freed would hide what it needs */
    must(toll_probe_new(&own_probe, &self, &alone, NULL));
    must(toll_probe_new(&other_probe, &other, &alone, NULL));
    measure("toll_snapshot, this process alone", snapshot_self, 300);
    measure("toll_probe_read, this process alone", probe_self, 300);
    measure("toll_snapshot, another process alone", snapshot_other, 100);
    measure("toll_probe_read, another process alone", probe_other, 300);
    measure("toll_snapshot, the machine", snapshot_machine, 20);
    measure("a tracker: new, start, finish, free", whole_life, 20);
    measure("toll_mark_event, without a listener", mark, 10000);
    toll_probe_free(own_probe);
    toll_probe_free(other_probe);
    kill(other.id, SIGKILL);
    waitpid(other.id, NULL, 0);
    return 0;
}
