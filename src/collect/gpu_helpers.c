/* SPDX-License-Identifier: MIT */
#include "collect/gpu_helpers.h"

#include "base/quiet_fork.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

void gpu_helpers_init(struct gpu_helpers *h)
{
    *h = (struct gpu_helpers){.count = 0};
    pthread_mutex_init(&h->lock, NULL);
}

void gpu_helpers_done(struct gpu_helpers *h)
{
    pthread_mutex_destroy(&h->lock);
}

static _Noreturn void become_helper(int (*run)(void *arg), void *arg, pid_t parent)
{
    prctl(PR_SET_NAME, "toll-gpu");
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* of the thread that started it, not of the program alone */
    if (getppid() != parent)
        _exit(0);
    _exit(run(arg));
}

/* Under the lock: whoever meets the child and asks for it waits until it stands in the list. */
static pid_t start(struct gpu_helpers *h, int (*run)(void *arg), void *arg)
{
    sigset_t all, before;
    if (h->count == GPU_HELPERS)
        return -EAGAIN;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    pid_t pid = quiet_fork();
    int fork_errno = errno;
    if (pid == 0)
        become_helper(run, arg, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return -fork_errno;
    h->pids[h->count++] = pid;
    return pid;
}

pid_t gpu_helpers_start(struct gpu_helpers *h, int (*run)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    pid_t pid = start(h, run, arg);
    pthread_mutex_unlock(&h->lock);
    return pid;
}

pid_t gpu_helpers_start_whole(struct gpu_helpers *h, int (*run)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    pid_t pid = h->count == GPU_HELPERS ? -EAGAIN : quiet_fork_whole(run, arg);
    if (pid > 0)
        h->pids[h->count++] = pid;
    pthread_mutex_unlock(&h->lock);
    return pid;
}

pid_t gpu_helpers_start_program(struct gpu_helpers *h, const char *path, char *const *argv,
                                const int *files, size_t count)
{
    pthread_mutex_lock(&h->lock);
    pid_t pid = h->count == GPU_HELPERS ? -EAGAIN : quiet_fork_program(path, argv, files, count);
    if (pid > 0)
        h->pids[h->count++] = pid;
    pthread_mutex_unlock(&h->lock);
    return pid;
}

void gpu_helpers_end_soon(struct gpu_helpers *h, pid_t pid, unsigned most_ms)
{
    for (unsigned ms = 0; ms < most_ms && waitpid(pid, NULL, WNOHANG | __WALL) == 0; ms++)
        usleep(1000);
    gpu_helpers_end(h, pid);
}

void gpu_helpers_end(struct gpu_helpers *h, pid_t pid)
{
    (void)h; /* it stays in the list: its pid is remembered by those who met it */
    quiet_fork_end(pid);
}

bool gpu_helpers_has(struct gpu_helpers *h, pid_t pid)
{
    bool found = false;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->count; i++)
        found |= h->pids[i] == pid;
    pthread_mutex_unlock(&h->lock);
    return found;
}
