/* SPDX-License-Identifier: MIT
 * laps ROUNDS COMMAND… -- COMMAND… -- …: run the commands in turn, ROUNDS times each, with stderr
 * closed to the world. Prints for each the quartiles of its wall time, in nanoseconds. */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static uint64_t lap(char **command, const posix_spawn_file_actions_t *quiet)
{
    uint64_t began = now_ns();
    pid_t pid;
    int status;
    if (posix_spawnp(&pid, command[0], quiet, NULL, command, environ) != 0 ||
        waitpid(pid, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "laps: %s failed\n", command[0]);
        exit(1);
    }
    return now_ns() - began;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
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
    uint64_t *times = calloc(count * rounds, sizeof *times);
    if (!times)
        return 1;
    for (size_t round = 0; round < rounds; round++)
        for (unsigned c = 0; c < count; c++)
            times[c * rounds + round] = lap(commands[c], &quiet);
    for (unsigned c = 0; c < count; c++) {
        uint64_t *own = times + c * rounds;
        qsort(own, rounds, sizeof *own, compare);
        printf("%llu %llu %llu\n", (unsigned long long)own[rounds / 4],
               (unsigned long long)own[rounds / 2], (unsigned long long)own[rounds * 3 / 4]);
    }
}
