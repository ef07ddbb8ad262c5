/* SPDX-License-Identifier: MIT
 * join PROCS FILE COMMAND…: moves into a cgroup by its cgroup.procs and becomes the command. FILE
 * gets the CPU time in nanoseconds that the process had used when it began and when it had moved.
 * With the name "-" for FILE it stops itself first, until SIGCONT. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long used_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    char text[64];
    long long begun_ns = used_ns();
    if (argc < 4)
        return 2;
    if (strcmp(argv[2], "-") == 0)
        raise(SIGSTOP);
    int procs = open(argv[1], O_WRONLY | O_CLOEXEC);
    if (procs < 0 || write(procs, "0", 1) != 1)
        return 126;
    int n = snprintf(text, sizeof text, "%lld %lld\n", begun_ns, used_ns());
    int file = strcmp(argv[2], "-") == 0
                   ? -1
                   : open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file >= 0 && write(file, text, (size_t)n) != n)
        return 126;
    execvp(argv[3], argv + 3);
    return 127;
}
