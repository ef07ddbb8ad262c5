/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include "base/util.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

/* Blocked, not handled: dispositions survive exec, and a blocked signal cannot break a call. */
int signals_open(struct signals *s)
{
    sigset_t all;
    sigfillset(&all);
    struct sigaction child;
    sigaction(SIGCHLD, NULL, &child);
    s->ignore_sigchld = child.sa_handler == SIG_IGN;
    if (s->ignore_sigchld)
        signal(SIGCHLD, SIG_DFL); /* ignored, nothing could be waited for */
    if (sigprocmask(SIG_BLOCK, &all, &s->mask) < 0)
        return -errno;
    s->fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->fd < 0 ? -errno : 0;
}

static bool has_terminal(void)
{
    CLEANUP_CLOSE int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd >= 0;
}

/* The command was stopped from the terminal: a shell waits for toll, so toll stops too. Stopped by
 * SIGSTOP, it was somebody else's wish, who will not think of toll when he continues it. */
static void follow_stop(pid_t command)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG) < 0 || !info.si_pid)
        return;
    int by = info.si_status;
    if ((by == SIGTSTP || by == SIGTTIN || by == SIGTTOU) && has_terminal())
        kill(getpid(), SIGSTOP);
}

/* The terminal signals the whole foreground group, and so does a member that signals its group:
 * then the command has it already. */
static bool command_has_it(struct toll_tracker *t, const struct signalfd_siginfo *info)
{
    if (info->ssi_code > 0) {
        /* From the kernel: a key, or the loss of the terminal, which it tells the leader alone. */
        bool hangup = info->ssi_signo == SIGHUP || info->ssi_signo == SIGCONT;
        return !(hangup && getsid(0) == getpid());
    }
    if (info->ssi_pid == (uint32_t)getpid())
        return true; /* toll's own: it wrote to a pipe that nobody reads, or past a limit */
    return info->ssi_pid && toll_tracker_contains(t, (pid_t)info->ssi_pid);
}

static bool means_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool signals_forward(struct signals *s, struct toll_tracker *t)
{
    struct signalfd_siginfo info;
    pid_t command = toll_tracker_pid(t);
    while (read(s->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (!command && means_end(number))
            return true;
        if (!command)
            continue;
        if (number == SIGCHLD)
            follow_stop(command);
        else if (!command_has_it(t, &info))
            kill(command, number);
    }
    return false;
}
