/* SPDX-License-Identifier: MIT
 * workloads NAME: jobs that are hard to account for, for accuracy.py.
 *   ignored     60 children of 5 ms of CPU time, whose parent ignores SIGCHLD
 *   daemon      a daemon, forked twice, that uses 0.4 s and ends after the command
 *   spike       500 MB for 30 ms, touched, in one of two children
 *   threads     80 threads of 10 ms that end
 *   direct FILE 200 MB written with O_DIRECT
 *   subreapers  three levels of processes that adopt, each with a daemon of 50 ms
 *   namespace   the first process of a pid namespace ends over two children of 0.2 s */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { IGNORED = 60, THREADS = 80, LEVELS = 3 };

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void use_cpu(double seconds)
{
    double end = clock_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void wait_for_all(void)
{
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static int ignored(void)
{
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < IGNORED; i++) {
        if (fork() == 0) {
            use_cpu(0.005);
            _exit(0);
        }
        if (i % 2)
            wait_for_all();
    }
    wait_for_all();
    return 0;
}

static void start_daemon(double seconds)
{
    pid_t middle = fork();
    if (middle == 0) {
        if (fork() == 0) {
            setsid();
            use_cpu(seconds);
            _exit(0);
        }
        _exit(0);
    }
    waitpid(middle, NULL, 0);
}

static int spike(void)
{
    size_t bytes = (size_t)500 << 20;
    if (fork() == 0) {
        usleep(300000);
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED)
            _exit(1);
        usleep(30000);
        munmap(memory, bytes);
        usleep(200000);
        _exit(0);
    }
    wait_for_all();
    return 0;
}

static void *thread_body(void *arg)
{
    use_cpu(0.01);
    return arg;
}

static int threads(void)
{
    pthread_t all[4];
    for (int i = 0; i < THREADS; i += 4) {
        for (int k = 0; k < 4; k++)
            if (pthread_create(&all[k], NULL, thread_body, NULL) != 0)
                return 1;
        for (int k = 0; k < 4; k++)
            pthread_join(all[k], NULL);
    }
    return 0;
}

static int direct(const char *path)
{
    size_t chunk = (size_t)8 << 20;
    void *memory;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0 || posix_memalign(&memory, 4096, chunk) != 0)
        return 77;
    memset(memory, 1, chunk);
    for (int i = 0; i < 25; i++)
        if (write(fd, memory, chunk) != (ssize_t)chunk)
            return 77;
    close(fd);
    unlink(path);
    return 0;
}

static void subreapers(int level)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    start_daemon(0.05);
    if (level < LEVELS && fork() == 0) {
        subreapers(level + 1);
        _exit(0);
    }
    wait_for_all();
}

static int namespace(void)
{
    if (unshare(CLONE_NEWPID) < 0)
        return 77;
    if (fork() == 0) {
        for (int i = 0; i < 2; i++)
            if (fork() == 0) {
                use_cpu(0.2);
                pause();
            }
        sleep(1);
        _exit(0); /* the kernel ends the others */
    }
    wait_for_all();
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "ignored") == 0)
        return ignored();
    if (strcmp(name, "spike") == 0)
        return spike();
    if (strcmp(name, "threads") == 0)
        return threads();
    if (strcmp(name, "direct") == 0 && argc > 2)
        return direct(argv[2]);
    if (strcmp(name, "namespace") == 0)
        return namespace();
    if (strcmp(name, "daemon") == 0)
        start_daemon(0.4);
    else if (strcmp(name, "subreapers") == 0)
        subreapers(1);
    else
        return 2;
    return 0;
}
