/* SPDX-License-Identifier: MIT
 *
 * The program around us may have threads, and one of them may hold any lock when we fork: up to
 * its end the helper makes system calls only. */
#include "collect/space_helper.h"
#include "base/file.h"
#include "base/quiet_fork.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

struct space space_of_statvfs(const struct statvfs *st)
{
    return (struct space){
        .block_bytes = st->f_frsize,
        .blocks = st->f_blocks,
        .blocks_free = st->f_bfree,
        .blocks_available = st->f_bavail,
        .files = st->f_files,
        .files_free = st->f_ffree,
    };
}

static _Noreturn void serve(int fd, statvfs_function *ask)
{
    for (;;) {
        struct space_request request;
        ssize_t n = recv(fd, &request, sizeof request, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= (ssize_t)offsetof(struct space_request, path))
            _exit(0);
        request.path[sizeof request.path - 1] = '\0';
        struct statvfs st;
        struct space_answer answer = {.serial = request.serial};
        if (ask(request.path, &st) == 0)
            answer.space = space_of_statvfs(&st);
        else
            answer.error = -errno;
        if (send(fd, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            _exit(0);
    }
}

static _Noreturn void become_helper(int fd, statvfs_function *ask, pid_t parent)
{
    prctl(PR_SET_NAME, "toll-statvfs");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    quiet_fork_close_all_but(fd);
    if (chdir("/") < 0) /* whatever we stand in could not be unmounted */
        _exit(1);
    serve(fd, ask);
}

pid_t space_helper_start(statvfs_function *ask, int *ret_fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    /* The helper keeps this mask: a Ctrl-C is meant for the job, and handlers of the program
     * around us are not to run twice. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid();
    pid_t pid = quiet_fork();
    int fork_errno = errno;
    if (pid == 0)
        become_helper(ends[1], ask, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -fork_errno;
    }
    *ret_fd = ends[0];
    return pid;
}
