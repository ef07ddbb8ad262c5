/* SPDX-License-Identifier: MIT
 * nowait ignore|nocldwait FILE COUNT MS: COUNT children one after the other, each using MS of CPU
 * time, reaped by the kernel itself. FILE gets what all of them together used, by their own
 * clocks: nobody else knows. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    struct sigaction a = {.sa_handler = SIG_DFL};
    if (strcmp(argv[1], "ignore") == 0)
        a.sa_handler = SIG_IGN;
    else
        a.sa_flags = SA_NOCLDWAIT;
    sigaction(SIGCHLD, &a, NULL);
    volatile long long *sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < atoi(argv[3]); i++) {
        if (fork() == 0) {
            while (used() < atoll(argv[4]) * 1000000)
                ;
            *sum += used();
            _exit(0);
        }
        while (wait(NULL) > 0)
            ;
    }
    FILE *f = fopen(argv[2], "w");
    if (!f)
        return 2;
    fprintf(f, "%.9f\n", (double)(*sum + used()) / 1e9);
    fclose(f);
    return 0;
}
