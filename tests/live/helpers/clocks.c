/* SPDX-License-Identifier: MIT
 * clocks stay SECONDS…   a thread for each: it uses this much CPU time, prints its id, its CPU time
 * by its clock and by getrusage, and how long it has waited for a CPU, and stays until standard
 * input ends clocks pass COUNT MS   COUNT threads of MS milliseconds of CPU time, one after the
 * other
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double seconds(const char *text)
{
    return strtod(text, NULL);
}

static double own_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double until)
{
    while (own_clock() < until)
        ;
}

static pthread_barrier_t all_done;

static void *stay(void *text)
{
    char name[16];
    struct rusage used;
    unsigned long long waited = 0;
    char c;
    snprintf(name, sizeof name, "uses %s", (const char *)text);
    pthread_setname_np(pthread_self(), name);
    burn(seconds(text));
    getrusage(RUSAGE_THREAD, &used);
    FILE *own = fopen("/proc/thread-self/schedstat", "r");
    if (own && fscanf(own, "%*s %llu", &waited) != 1)
        waited = 0;
    if (own)
        fclose(own);
    printf("%ld %.9f %.9f %.6f\n", (long)syscall(SYS_gettid), own_clock(), (double)waited / 1e9,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    fflush(stdout);
    pthread_barrier_wait(&all_done);
    while (read(0, &c, 1) > 0)
        ;
    return NULL;
}

static void *pass(void *text)
{
    burn(seconds(text) / 1000);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t ids[64];
    if (argc < 3 || argc > 64)
        return 2;
    if (strcmp(argv[1], "stay") == 0) {
        pthread_barrier_init(&all_done, NULL, (unsigned)argc - 2);
        for (int i = 2; i < argc; i++)
            if (pthread_create(&ids[i], NULL, stay, argv[i]) != 0)
                return 2;
        for (int i = 2; i < argc; i++)
            pthread_join(ids[i], NULL);
        return 0;
    }
    for (int i = atoi(argv[2]); i > 0 && argc == 4; i--)
        if (pthread_create(&ids[0], NULL, pass, argv[3]) != 0 || pthread_join(ids[0], NULL) != 0)
            return 2;
    return 0;
}
