/* SPDX-License-Identifier: MIT
 * A program that measures itself and the many short children it starts. The truth is what the
 * kernel tells the program of its children when it waits for them, and the size of what they wrote.
 *
 *   self_tree CHILDREN [late]
 *
 * late: as an ordinary user, each child stays a zombie for a moment, and samples come so close to
 * each other that some are found in the middle of being reaped.
 *
 * Prints both; exit status 1 when they differ. */
#include "toll.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITTEN = 10000, ORDINARY_USER = 65534, LATEST_NS = 2000000 };

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static double used_by(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
}

static _Noreturn void work(int fd)
{
    static const char text[WRITTEN];
    struct timespec ts;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    while (ts.tv_nsec < 2000000);
    _exit(write(fd, text, sizeof text) == sizeof text ? 0 : 1);
}

static void spin_ns(long ns)
{
    struct timespec began, now;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < ns);
}

static bool become_ordinary(void)
{
    return geteuid() != 0 || (setgid(ORDINARY_USER) == 0 && setuid(ORDINARY_USER) == 0 &&
                              prctl(PR_SET_DUMPABLE, 1) == 0);
}

static double total(struct toll_tracker *t, const char *name)
{
    struct toll_figure f = {.size = sizeof f};
    return toll_tracker_figure(t, name, &f) == 0 ? f.total : (double)NAN;
}

int main(int argc, char **argv)
{
    unsigned children = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 300;
    bool late = argc > 2 && strcmp(argv[2], "late") == 0;
    struct toll_options o = {.size = sizeof o, .interval_ns = late ? 1000000 : 20000000};
    struct toll_target self = {.size = sizeof self};
    struct toll_tracker *t;
    struct toll_error e;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (late && !become_ordinary())
        return 1;
    if (toll_tracker_new(&t, &o, &e) || toll_tracker_add_target(t, &self, &e) ||
        toll_tracker_start(t, &e)) {
        fprintf(stderr, "self_tree: %s\n", e.message);
        return 1;
    }
    double own_before = used_by(RUSAGE_SELF);
    for (unsigned i = 0; i < children; i++) {
        pid_t child = fork();
        int status;
        if (child == 0)
            work(fd);
        siginfo_t ended;
        if (late && waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) == 0)
            spin_ns(random() % LATEST_NS);
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    double theirs = used_by(RUSAGE_CHILDREN), ours = used_by(RUSAGE_SELF) - own_before;
    if (toll_tracker_finish(t, NULL) < 0)
        return 1;
    double all = total(t, "target_cpu_seconds"), below = total(t, "descendants_cpu_seconds");
    double sampler = total(t, "self_cpu_seconds"), wrote = total(t, "target_io_written_bytes");
    toll_tracker_free(t);
    close(fd);
    printf("children %.4f s, told %.4f; all but the sampler %.4f s, told %.4f; written %u, told "
           "%.0f\n",
           theirs, below, theirs + ours - sampler, all, children * WRITTEN, wrote);
    /* What the sampler used before and after the program looked at itself is some milliseconds. */
    bool right = fabs(below - theirs) <= 0.00001 &&
                 fabs(all - (theirs + ours - sampler)) <= 0.005 + 0.01 * all &&
                 wrote == (double)children * WRITTEN;
    return right ? 0 : 1;
}
