/* SPDX-License-Identifier: MIT
 * A program that measures itself and then does what hosts do, for test_embedding.py.
 *
 *   embedding exit | exec | pipe | descriptors | intact | callback */
#include <toll.h>

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static atomic_bool has_worked;

/* The first time it works for its living. */
static void on_frame(void *arg, const struct toll_frame *frame)
{
    struct timespec ts;
    (void)arg, (void)frame;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    while (ts.tv_sec == 0 && ts.tv_nsec < 200000000);
    has_worked = true;
}

static struct toll_tracker *start(struct toll_options o, const struct toll_output *outputs)
{
    struct toll_target self = {.size = sizeof self};
    struct toll_tracker *t;
    struct toll_error e;
    o.size = sizeof o;
    o.interval_ns = 10000000;
    int r = toll_tracker_new(&t, &o, &e);
    if (r == 0)
        r = toll_tracker_add_target(t, &self, &e);
    for (; r == 0 && outputs && outputs->size; outputs++)
        r = toll_tracker_add_output(t, outputs, &e);
    if (r == 0)
        r = toll_tracker_start(t, &e);
    if (r < 0) {
        fprintf(stderr, "embedding: %s\n", e.message);
        exit(1);
    }
    return t;
}

static void finish(struct toll_tracker *t)
{
    struct toll_figure cpu = {.size = sizeof cpu};
    printf("finish %d\n", toll_tracker_finish(t, NULL));
    toll_tracker_figure(t, "target_cpu_seconds", &cpu);
    printf("target_cpu_seconds %.9g\n", cpu.total);
    toll_tracker_free(t);
}

static int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    closedir(dir);
    return count;
}

enum { LOWEST = 0, HIGHEST = 64 };

/* Which file each number is; all 0 for one that is not open. */
static void look_at_files(struct stat *files)
{
    memset(files, 0, HIGHEST * sizeof *files);
    for (int fd = LOWEST; fd < HIGHEST; fd++)
        if (fstat(fd, &files[fd]) < 0)
            memset(&files[fd], 0, sizeof files[fd]);
}

/* The program's descriptors are the same ones after the start and after the end. */
static int stay_intact(const struct toll_output *outputs)
{
    static struct stat before[HIGHEST], meanwhile[HIGHEST], after[HIGHEST];
    int ends[2], lost = 0;
    for (int i = 0; i < 8; i++)
        if (pipe(ends) < 0)
            return 1;
    look_at_files(before);
    struct toll_tracker *t = start((struct toll_options){0}, outputs);
    look_at_files(meanwhile);
    usleep(100000);
    finish(t);
    look_at_files(after);
    for (int fd = LOWEST; fd < HIGHEST; fd++)
        if (before[fd].st_ino &&
            (before[fd].st_ino != meanwhile[fd].st_ino || before[fd].st_ino != after[fd].st_ino))
            lost++;
    printf("lost %d\n", lost);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const struct toll_output files[] = {
        {.size = sizeof *files, .destination = "run.jsonl"},
        {.size = sizeof *files, .destination = "run.csv"},
        {.size = sizeof *files, .destination = "run.json"},
        {0},
    };
    int ends[2], before = descriptors();
    if (strcmp(mode, "pipe") == 0) {
        if (pipe(ends) < 0 || close(ends[0]) < 0)
            return 1;
        struct toll_output nobody[] = {{.size = sizeof *nobody, .fd = ends[1], .format = "jsonl"},
                                       {0}};
        struct toll_tracker *t = start((struct toll_options){0}, nobody);
        usleep(100000);
        finish(t);
        return 0;
    }
    if (strcmp(mode, "callback") == 0) {
        struct toll_tracker *t = start((struct toll_options){.frame = on_frame}, NULL);
        while (!has_worked)
            usleep(10000);
        finish(t);
        return 0;
    }
    if (strcmp(mode, "intact") == 0)
        return stay_intact(files);
    struct toll_tracker *t = start((struct toll_options){0}, files);
    printf("descriptors %d\n", descriptors() - before);
    usleep(100000);
    if (strcmp(mode, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "ls -l /proc/$$/fd >&2", (char *)NULL);
    if (strcmp(mode, "exit") == 0)
        return 7;
    finish(t);
    return 0;
}
