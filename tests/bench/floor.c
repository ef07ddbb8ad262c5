/* SPDX-License-Identifier: MIT
 * floor PID INTERVAL_MS SKIP TICKS: the system calls that sampling a tree needs, and nothing else.
 *
 * A tick waits for its timer and asks for the last pid of the machine and for its own CPU time; of
 * each process it reads the CPU clock. Of a process whose clock has moved it reads statm, and, when
 * the machine has new processes, the list of children; four times a second (twice in a tree of more
 * than 32, always of one with children) stat and io; once a second also status, schedstat and the
 * number of open files. Of one that sleeps it reads stat once a second, because
 * the kernel can take its memory away. Nothing is parsed and nothing summed up; files stay open as
 * far as the limit of descriptors goes.
 *
 * Prints the CPU time per tick in nanoseconds, without the first SKIP ticks. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum file { STAT, STATM, IO, CHILDREN, STATUS, SCHEDSTAT, OPEN_FILES, FILES };

static const char *const names[FILES] = {"stat",   "statm",     "io", "children",
                                         "status", "schedstat", "fd"};

struct process {
    pid_t pid;
    uint64_t clock_ns;
    uint64_t refreshed_ns;
    bool has_run;   /* since then */
    bool is_behind; /* stat and io were not read since it ran */
    bool has_children;
    int fds[FILES]; /* -1 = not kept */
};

#define SECOND 1000000000ULL

static struct process *tree;
static unsigned count;
static int proc;
static char text[8192];

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) < 0 ? 0 : (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static int open_file(pid_t pid, enum file file)
{
    char path[64];
    if (file == CHILDREN)
        snprintf(path, sizeof path, "%d/task/%d/%s", (int)pid, (int)pid, names[file]);
    else
        snprintf(path, sizeof path, "%d/%s", (int)pid, names[file]);
    return openat(proc, path, O_RDONLY | O_CLOEXEC);
}

static void look(int fd, enum file file)
{
    struct stat st;
    if (file == OPEN_FILES ? fstat(fd, &st) < 0 : pread(fd, text, sizeof text, 0) < 0)
        exit(1);
}

static void read_file(struct process *p, enum file file)
{
    if (p->fds[file] >= 0) {
        look(p->fds[file], file);
        return;
    }
    int fd = open_file(p->pid, file);
    look(fd, file);
    close(fd);
}

/* ---- The tree -------------------------------------------------------------------------------- */

static void add_tree(pid_t pid)
{
    char children[8192];
    tree = realloc(tree, (count + 1) * sizeof *tree);
    if (!tree)
        exit(1);
    tree[count++] = (struct process){.pid = pid, .fds = {-1, -1, -1, -1, -1, -1, -1}};
    int fd = open_file(pid, CHILDREN);
    ssize_t n = pread(fd, children, sizeof children - 1, 0);
    close(fd);
    children[n < 0 ? 0 : n] = '\0';
    tree[count - 1].has_children = n > 0;
    char *end = children;
    for (long child; (child = strtol(end, &end, 10)) > 0;)
        add_tree((pid_t)child);
}

/* The files that are read most often first. */
static void keep_files(uint64_t now_ns)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    rlim_t room = limit.rlim_cur - 32;
    for (unsigned file = 0; file < FILES; file++)
        for (unsigned i = 0; i < count && room; i++, room--)
            tree[i].fds[file] = open_file(tree[i].pid, file);
    for (unsigned i = 0; i < count; i++)
        tree[i].refreshed_ns = now_ns - SECOND * i / count;
}

/* ---- A tick ---------------------------------------------------------------------------------- */

static bool machine_has_new(int loadavg)
{
    static char before[128];
    char now[128];
    ssize_t n = pread(loadavg, now, sizeof now, 0);
    bool differs = false;
    while (n > 0 && now[n - 1] != ' ') { /* the last word */
        n--;
        differs |= before[n] != now[n];
        before[n] = now[n];
    }
    return differs;
}

static void tick(int loadavg)
{
    static uint64_t worked_ns;
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    bool has_all = now_ns - worked_ns >= SECOND / 25 * (count > 32 ? 12 : 6);
    if (has_all)
        worked_ns = now_ns;
    bool find_children = machine_has_new(loadavg);
    for (unsigned i = 0; i < count; i++) {
        struct process *p = &tree[i];
        uint64_t before = p->clock_ns;
        p->clock_ns = clock_ns((clockid_t)((~(unsigned)p->pid << 3) | 2));
        bool moved = p->clock_ns != before;
        bool refresh = now_ns - p->refreshed_ns >= SECOND;
        p->has_run |= moved;
        p->is_behind |= moved;
        bool is_full = p->is_behind && (has_all || p->has_children);
        refresh &= is_full || !p->is_behind;
        if (refresh)
            p->refreshed_ns = now_ns;
        if (moved)
            read_file(p, STATM);
        if (is_full || refresh)
            read_file(p, STAT);
        if (is_full)
            read_file(p, IO);
        p->is_behind &= !is_full;
        if (moved && find_children)
            read_file(p, CHILDREN);
        if (!refresh || !p->has_run)
            continue;
        p->has_run = false;
        read_file(p, STATUS);
        read_file(p, SCHEDSTAT);
        read_file(p, OPEN_FILES);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: floor PID INTERVAL_MS SKIP TICKS\n", stderr);
        return 2;
    }
    uint64_t interval_ns = strtoull(argv[2], NULL, 10) * 1000000;
    unsigned skip = (unsigned)strtoul(argv[3], NULL, 10);
    unsigned ticks = (unsigned)strtoul(argv[4], NULL, 10);
    proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC);
    add_tree((pid_t)strtol(argv[1], NULL, 10));
    keep_files(deadline_ns);

    uint64_t first_cpu_ns = 0;
    uint64_t cpu_ns = 0;
    for (unsigned i = 0; i < skip + ticks; i++) {
        deadline_ns += interval_ns;
        struct itimerspec when = {
            .it_value = {(time_t)(deadline_ns / SECOND), (long)(deadline_ns % SECOND)}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
        struct pollfd fd = {.fd = timer, .events = POLLIN};
        poll(&fd, 1, -1);
        tick(loadavg);
        cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        if (i + 1 == skip)
            first_cpu_ns = cpu_ns;
    }
    printf("%.0f\n", (double)(cpu_ns - first_cpu_ns) / ticks);
}
