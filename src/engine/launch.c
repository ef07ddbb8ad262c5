/* SPDX-License-Identifier: MIT */
#include "engine/launch.h"

#include "base/err.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LOOK_AFTER_CHILD_MS = 20 };

/* What the child tells before it becomes the command, through shared memory: a write would count
 * as the command's. */
struct message {
    int exec_errno; /* why exec failed, or 0 */
};

/* A fork, not a vfork: the kernel's high-water mark survives exec, and a forked child has the pages
 * it touches, a vforked one all of ours. */
static _Noreturn void become(char *const argv[], char *const environment[],
                             const struct toll_launch *options, volatile struct message *m)
{
    if (options && options->ignore_sigchld)
        signal(SIGCHLD, SIG_IGN);
    if (options && options->signal_mask)
        sigprocmask(SIG_SETMASK, options->signal_mask, NULL);
    execvpe(argv[0], argv, environment);
    m->exec_errno = errno;
    _exit(127);
}

int launch_open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

static bool is_stopped(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* The pipe closes when the child has executed the command, or ended. A Ctrl-Z may stop it before
 * it comes to that: then it is for the caller to stop too, and not to sit here. */
static void wait_for_exec(int pipe, pid_t child)
{
    struct pollfd fd = {.fd = pipe};
    char nothing;
    int n;
    while ((n = poll(&fd, 1, LOOK_AFTER_CHILD_MS)) <= 0) {
        if (is_stopped(child))
            return;
        if (n < 0 && errno != EINTR && read(pipe, &nothing, 1) == 0)
            return; /* no memory to poll: reading waits as well */
    }
}

/* Forks; the child is the command, or has left the reason in *m, when this returns. */
static pid_t start(char *const argv[], char *const environment[], const struct toll_launch *options,
                   volatile struct message *m)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        become(argv, environment, options, m);
    int fork_errno = errno;
    close(ends[1]);
    if (pid > 0)
        wait_for_exec(ends[0], pid);
    close(ends[0]);
    return pid < 0 ? -fork_errno : pid;
}

int launch(struct launched *ret, char *const argv[], char *const environment[],
           struct toll_launch *options, struct toll_error *e)
{
    if (!argv || !argv[0] || !*argv[0])
        return err_set(e, -EINVAL, "there is no command to run");
    struct sigaction child = {0};
    if (sigaction(SIGCHLD, NULL, &child) == 0 &&
        (child.sa_handler == SIG_IGN || (child.sa_flags & SA_NOCLDWAIT)))
        return err_set(e, -EINVAL, "this program ignores SIGCHLD: no child can be waited for");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return err_set(e, -errno, "cannot become a subreaper: %s", strerror(errno));
    struct message *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return err_set(e, -errno, "no memory to start a process: %s", strerror(errno));
    pid_t pid = start(argv, environment ? environment : environ, options, shared);
    struct message m = *shared;
    munmap(shared, sizeof *shared);
    if (pid < 0)
        return err_set(e, pid, "cannot start a process: %s", strerror(-pid));
    if (m.exec_errno) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (options)
            options->exec_errno = m.exec_errno;
        return err_set(e, -m.exec_errno, "cannot run '%s': %s", argv[0], strerror(m.exec_errno));
    }
    *ret = (struct launched){
        .pid = pid,
        .pidfd = launch_open_pidfd(pid),
    };
    return 0;
}
