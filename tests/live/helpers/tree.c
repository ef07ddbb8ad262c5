/* SPDX-License-Identifier: MIT
 * tree BRANCHES LEAVES MS: BRANCHES children with LEAVES children each, each leaf using 1 ms of CPU
 * time. When all have done so, all stay together for MS. Ends when all were waited for. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(void)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_nsec < 1000000 && !t.tv_sec);
}

/* Blocks until the last writer has gone. */
static void stay(int pipe)
{
    char c;
    while (read(pipe, &c, 1) > 0)
        ;
}

int main(int argc, char **argv)
{
    int hold[2], done[2];
    if (argc < 4 || pipe(hold) < 0 || pipe(done) < 0)
        return 2;
    for (int b = 0; b < atoi(argv[1]); b++) {
        pid_t branch = fork();
        if (branch < 0)
            return 3;
        if (branch)
            continue;
        close(hold[1]);
        for (int l = 0; l < atoi(argv[2]); l++) {
            pid_t leaf = fork();
            if (leaf < 0)
                break;
            if (leaf == 0) {
                work();
                if (write(done[1], "", 1) != 1)
                    _exit(1);
                stay(hold[0]);
                _exit(0);
            }
        }
        stay(hold[0]);
        while (wait(NULL) > 0)
            ;
        _exit(0);
    }
    close(hold[0]);
    close(done[1]);
    char c;
    for (long n = atol(argv[1]) * atol(argv[2]); n && read(done[0], &c, 1) == 1; n--)
        ;
    usleep((useconds_t)atol(argv[3]) * 1000);
    close(hold[1]);
    while (wait(NULL) > 0)
        ;
    return 0;
}
