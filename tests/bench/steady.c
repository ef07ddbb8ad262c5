/* SPDX-License-Identifier: MIT
 * steady MODE FILE: does the same small piece of work over and over, and keeps in FILE, as three
 * numbers of eight bytes, how many were done, the CPU time of itself and its children, and the
 * wall time, in nanoseconds.
 *   compute  arithmetic in registers and the first cache
 *   faults   maps memory and faults it in, beside 1 GB that stays resident
 *   spawn    starts a program with vfork and waits for it */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RESIDENT (1UL << 30)
#define CHUNK    (1UL << 20)
#define PAGE     4096

static void compute(void)
{
    static volatile uint64_t state = 88172645463325252;
    uint64_t x = state;
    for (unsigned i = 0; i < 300000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    state = x;
}

static char *fault_in(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("steady: mmap");
        exit(1);
    }
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += PAGE)
        ((volatile char *)memory)[at] = 1;
    return memory;
}

static void faults(void)
{
    munmap(fault_in(CHUNK), CHUNK);
}

static void spawn(void)
{
    static char name[] = "true";
    static char *const argv[] = {name, NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/bin/true", argv);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t children_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return ((uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
            (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
           1000;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } modes[] = {{"compute", compute}, {"faults", faults}, {"spawn", spawn}};
    void (*work)(void) = NULL;
    for (unsigned i = 0; argc == 3 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            work = modes[i].work;
    int fd = work ? open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    uint64_t *shown = fd >= 0 && ftruncate(fd, PAGE) == 0
                          ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                          : MAP_FAILED;
    if (shown == MAP_FAILED) {
        fputs("usage: steady compute|faults|spawn FILE\n", stderr);
        return 2;
    }
    if (work == faults)
        fault_in(RESIDENT);
    for (uint64_t done = 1;; done++) {
        work();
        __atomic_store_n(&shown[1], clock_ns(CLOCK_PROCESS_CPUTIME_ID) + children_ns(),
                         __ATOMIC_RELEASE);
        __atomic_store_n(&shown[2], clock_ns(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
        __atomic_store_n(&shown[0], done, __ATOMIC_RELEASE);
    }
}
