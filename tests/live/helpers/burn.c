/* SPDX-License-Identifier: MIT
 * burn MS [THREADS [SLEEP_MS [STATUS]]]: use MS of CPU time in the main thread, or in each of
 * THREADS threads that then exit, sleep, and end with STATUS. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void *burn(void *ms)
{
    struct timespec t;
    long long want = (long long)(long)ms * 1000000;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000000000LL + t.tv_nsec < want);
    return NULL;
}

int main(int argc, char **argv)
{
    long ms = argc > 1 ? atol(argv[1]) : 100;
    int threads = argc > 2 ? atoi(argv[2]) : 0;
    pthread_t id[1000];
    if (!threads)
        burn((void *)ms);
    for (int i = 0; i < threads; i++)
        pthread_create(&id[i], NULL, burn, (void *)ms);
    for (int i = 0; i < threads; i++)
        pthread_join(id[i], NULL);
    usleep(argc > 3 ? (useconds_t)atol(argv[3]) * 1000 : 0);
    return argc > 4 ? atoi(argv[4]) : 0;
}
