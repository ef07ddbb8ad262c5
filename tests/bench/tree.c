/* SPDX-License-Identifier: MIT
 * tree N sleep|work: N processes, ten children each, until the first one is killed.
 *
 * sleep: they wait for ever. work: each wakes every 50 ms and computes for 50 µs, so that at 10 Hz
 * every one of them has changed; 1000 of them keep one core busy.
 * When all are there, the first one prints its pid. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { FAN_OUT = 10 };

#define PERIOD_NS 50000000
#define BURN_NS   50000

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* Each at its own moment of the period. */
static _Noreturn void work(unsigned me, unsigned all)
{
    uint64_t next = now_ns() / PERIOD_NS * PERIOD_NS + (uint64_t)me * PERIOD_NS / all;
    for (;;) {
        next += PERIOD_NS;
        sleep_until(next);
        uint64_t until = now_ns() + BURN_NS;
        while (now_ns() < until)
            ;
        if (now_ns() > next + PERIOD_NS)
            next = now_ns();
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[2], "sleep") != 0 && strcmp(argv[2], "work") != 0)) {
        fputs("usage: tree N sleep|work\n", stderr);
        return 2;
    }
    unsigned all = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned *ready = mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0);
    if (ready == MAP_FAILED)
        return 1;
    unsigned me = 0;
    for (unsigned child = 1; child <= FAN_OUT && me * FAN_OUT + child < all; child++) {
        pid_t parent = getpid();
        pid_t pid = fork();
        if (pid < 0) {
            perror("tree: fork");
            kill(0, SIGKILL);
        }
        if (pid > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            return 1;
        me = me * FAN_OUT + child;
        child = 0; /* now its own children */
    }
    __atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
    if (me == 0) {
        while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) < all)
            usleep(1000);
        printf("%d\n", (int)getpid());
        fflush(stdout);
    }
    if (strcmp(argv[2], "work") == 0)
        work(me, all);
    for (;;)
        pause();
}
