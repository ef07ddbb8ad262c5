/* SPDX-License-Identifier: MIT
 * storm vfork|fork|exec COUNT: starts COUNT processes one after the other and waits for each. With
 * vfork and fork they end at once, with exec they are /bin/true. Prints what one took, in
 * nanoseconds: wall time, and CPU time of both sides. */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t cpu_ns(int who)
{
    struct rusage u;
    getrusage(who, &u);
    return ((int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
            u.ru_stime.tv_usec) *
           1000;
}

static pid_t start_one(const char *way)
{
    static char path[] = "/bin/true";
    char *words[] = {path, NULL};
    pid_t pid = -1;
    if (strcmp(way, "exec") == 0)
        return posix_spawn(&pid, path, NULL, NULL, words, environ) == 0 ? pid : -1;
    pid = strcmp(way, "vfork") == 0 ? vfork() : fork();
    if (pid == 0)
        _exit(0);
    return pid;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    long count = strtol(argv[2], NULL, 10);
    if (count < 1)
        return 2;
    int64_t wall = wall_ns(), cpu = cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);
    for (long i = 0; i < count; i++) {
        pid_t pid = start_one(argv[1]);
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    cpu = cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN) - cpu;
    printf("%lld %lld\n", (long long)(wall_ns() - wall) / count, (long long)cpu / count);
    return 0;
}
