/* SPDX-License-Identifier: MIT
 * crowd processes|threads COUNT MS: so many that sleep, at once, for MS after the last was made, or
 * until the file "release" is there. How many there are with the first is written to "mark". */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *sleep_on(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static long make_processes(long count, pid_t *pids)
{
    for (long i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            return i;
        if (pids[i] == 0)
            sleep_on(NULL);
    }
    return count;
}

static long make_threads(long count)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 16384);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, sleep_on, NULL) != 0)
            return i;
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long count = atol(argv[2]), made;
    pid_t *pids = calloc((size_t)count, sizeof *pids);
    int is_processes = strcmp(argv[1], "processes") == 0;
    made = is_processes ? make_processes(count, pids) : make_threads(count);
    FILE *mark = fopen("mark", "w");
    if (!mark || fprintf(mark, "%ld\n", made + 1) < 0 || fclose(mark) != 0)
        return 1;
    for (long ms = atol(argv[3]); ms > 0 && access("release", F_OK) < 0; ms -= 5)
        usleep(5000);
    for (long i = 0; is_processes && i < made; i++)
        kill(pids[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
