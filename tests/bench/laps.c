/* SPDX-License-Identifier: MIT
 * laps ROUNDS COMMAND… -- COMMAND… -- …: run the commands in turn, ROUNDS times each, with stderr
 * closed to the world. Prints for each the quartiles of its wall time, then those of the CPU time
 * of it and its children, in nanoseconds. */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS = 8 };

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct lap {
    uint64_t wall_ns, cpu_ns;
};

static struct lap lap_run(char **command, const posix_spawn_file_actions_t *quiet)
{
    uint64_t began = now_ns();
    pid_t pid;
    int status;
    struct rusage used;
    if (posix_spawnp(&pid, command[0], quiet, NULL, command, environ) != 0 ||
        wait4(pid, &status, 0, &used) < 0 || status != 0) {
        fprintf(stderr, "laps: %s failed\n", command[0]);
        exit(1);
    }
    const struct timeval *u = &used.ru_utime, *k = &used.ru_stime;
    return (struct lap){
        .wall_ns = now_ns() - began,
        .cpu_ns = (uint64_t)(u->tv_sec + k->tv_sec) * 1000000000 +
                  (uint64_t)(u->tv_usec + k->tv_usec) * 1000,
    };
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_quartiles(uint64_t *times, size_t count, const char *after)
{
    qsort(times, count, sizeof *times, compare);
    printf("%llu %llu %llu%s", (unsigned long long)times[count / 4],
           (unsigned long long)times[count / 2], (unsigned long long)times[count * 3 / 4], after);
}

int main(int argc, char **argv)
{
    char **commands[COMMANDS];
    unsigned count = 0;
    size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (!rounds) {
        fputs("usage: laps ROUNDS COMMAND… -- COMMAND… -- …\n", stderr);
        return 2;
    }
    commands[count++] = argv + 2;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0 || count == COMMANDS)
            continue;
        argv[i] = NULL;
        commands[count++] = argv + i + 1;
    }
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    uint64_t *wall = calloc(count * rounds, sizeof *wall),
             *cpu = calloc(count * rounds, sizeof *cpu);
    if (!wall || !cpu)
        return 1;
    for (size_t round = 0; round < rounds; round++)
        for (unsigned c = 0; c < count; c++) {
            struct lap l = lap_run(commands[c], &quiet);
            wall[c * rounds + round] = l.wall_ns;
            cpu[c * rounds + round] = l.cpu_ns;
        }
    for (unsigned c = 0; c < count; c++) {
        print_quartiles(wall + c * rounds, rounds, " ");
        print_quartiles(cpu + c * rounds, rounds, "\n");
    }
}
