/* SPDX-License-Identifier: MIT
 * onemem HOW MB: processes that have one memory of MB, until the file "release" is there. Then the
 * high-water mark of that memory in bytes is written to "mark", as the kernel knows it.
 *
 *   vfork    a child between vfork and exec, which then becomes "true"
 *   clone    a child made with CLONE_VM that is no thread
 *   orphans  two such children of a parent that has gone; the main process has little memory
 *   fork     a plain child, with a memory of its own: half of it is written anew
 *   spawn    posix_spawn of "true", again and again
 *   leader   the main thread ends, and another one fills the memory
 *   write    without waiting: a child made with CLONE_VM writes MB to /dev/null, and its page
 *            faults are printed: none */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *block;
static size_t bytes;

static void wait_for_release(void)
{
    for (int i = 0; i < 24000 && access("release", F_OK) < 0; i++)
        usleep(5000);
}

/* Before its parent, which writes nothing when its child has ended badly, sees the end. */
static void write_mark(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *status = fopen("/proc/thread-self/status", "r");
    FILE *mark = fopen("mark", "w");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    if (mark)
        fprintf(mark, "%llu\n", kib * 1024);
    if (status)
        fclose(status);
    if (mark)
        fclose(mark);
}

static void fill(void)
{
    block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        _exit(1);
    memset(block, 1, bytes);
}

static int stay(void *arg)
{
    (void)arg;
    wait_for_release();
    return 0;
}

static pid_t clone_with_memory(int (*run)(void *))
{
    enum { STACK = 1 << 16 };
    char *stack = malloc(STACK);
    memset(stack, 1, STACK);
    return clone(run, stack + STACK, CLONE_VM | SIGCHLD, NULL);
}

static int write_block(void *arg)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)arg;
    return write(fd, block, bytes) == (ssize_t)bytes ? 0 : 1;
}

static int with_writer(void)
{
    struct rusage child;
    int status;
    fill();
    open("/dev/null", O_WRONLY | O_CLOEXEC); /* and what the child calls is mapped by now */
    write(-1, block, 0);
    if (wait4(clone_with_memory(write_block), &status, 0, &child) < 0 || status)
        return 1;
    dprintf(2, "%ld faults\n", child.ru_minflt);
    return 0;
}

static void *stay_alone(void *arg)
{
    (void)arg;
    fill();
    wait_for_release();
    write_mark();
    exit(0);
}

static int without_leader(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay_alone, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

static int with_orphans(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t parent = fork();
    if (parent == 0) {
        fill();
        clone_with_memory(stay);
        clone_with_memory(stay);
        write_mark();
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    char *const program[] = {"true", NULL};
    bytes = (size_t)atol(argv[2]) << 20;
    if (strcmp(argv[1], "orphans") == 0)
        return with_orphans();
    if (strcmp(argv[1], "leader") == 0)
        return without_leader();
    if (strcmp(argv[1], "write") == 0)
        return with_writer();
    fill();
    if (strcmp(argv[1], "vfork") == 0) {
        if (vfork() == 0) {
            wait_for_release();
            execvp(program[0], program);
            _exit(127);
        }
    } else if (strcmp(argv[1], "clone") == 0) {
        clone_with_memory(stay);
    } else if (strcmp(argv[1], "fork") == 0) {
        if (fork() == 0) {
            memset(block, 2, bytes / 2);
            wait_for_release();
            _exit(0);
        }
    } else {
        while (access("release", F_OK) < 0) {
            pid_t pid;
            if (posix_spawnp(&pid, program[0], NULL, NULL, program, environ) != 0)
                return 1;
            waitpid(pid, NULL, 0);
        }
    }
    while (wait(NULL) > 0)
        ;
    write_mark();
    return 0;
}
