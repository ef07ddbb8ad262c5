/* SPDX-License-Identifier: MIT
 * stalls FILE MEGABYTES: maps a little memory, touches it and unmaps it, over and over, beside so
 * much that stays resident, and times each step. It never waits by itself: a step that took more
 * than 100 µs and gave its CPU up of its own accord has waited for a lock of the kernel. The time
 * that it could run and had no CPU is not counted. FILE has the number of steps, the number of such
 * pauses, and of each its time and its length, in nanoseconds of the monotonic clock, as numbers of
 * eight bytes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAUSES = 8192, PAGE = 4096, CHUNK = 16 * PAGE };

#define LONG_NS 100000

struct shown {
    uint64_t steps, pauses;
    struct {
        uint64_t at_ns, length_ns;
    } of[PAUSES];
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static long waits(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_nvcsw;
}

/* How long it could run and had no CPU. */
static uint64_t delayed_ns(int schedstat)
{
    char text[64];
    ssize_t n = pread(schedstat, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    char *rest = text;
    strtoull(text, &rest, 10);
    return strtoull(rest, NULL, 10);
}

static char *touched(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += PAGE)
        ((volatile char *)memory)[at] = 1;
    return memory;
}

int main(int argc, char **argv)
{
    int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    struct shown *s = fd >= 0 && ftruncate(fd, sizeof *s) == 0
                          ? mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                                 fd, 0)
                          : MAP_FAILED;
    if (s == MAP_FAILED) {
        fputs("usage: stalls FILE MEGABYTES\n", stderr);
        return 2;
    }
    touched((size_t)strtoul(argv[2], NULL, 10) << 20);
    int schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    for (;;) {
        long waited = waits();
        uint64_t delayed = delayed_ns(schedstat), before = now_ns();
        munmap(touched(CHUNK), CHUNK);
        uint64_t took = now_ns() - before, delay = delayed_ns(schedstat) - delayed;
        took -= delay < took ? delay : took;
        if (took > LONG_NS && waits() > waited && s->pauses < PAUSES) {
            s->of[s->pauses].at_ns = before;
            s->of[s->pauses].length_ns = took;
            __atomic_store_n(&s->pauses, s->pauses + 1, __ATOMIC_RELEASE);
        }
        __atomic_store_n(&s->steps, s->steps + 1, __ATOMIC_RELEASE);
    }
}
