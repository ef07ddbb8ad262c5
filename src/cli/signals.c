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

/* A shell continues the whole group: then the command goes on already, or was stopped anew since,
 * which one more SIGCONT would undo. */
static bool was_continued(pid_t command)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)command, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid)
        return true;
    info = (siginfo_t){0};
    return waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* Keys and a hangup go to the whole foreground group. */
static bool is_of_terminal(int number)
{
    return number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGTTIN ||
           number == SIGTTOU || number == SIGWINCH || number == SIGHUP || number == SIGCONT;
}

/* What toll brought upon itself: a pipe that nobody reads, a limit. */
static bool is_own(int number)
{
    return number == SIGPIPE || number == SIGXFSZ || number == SIGXCPU;
}

/* The terminal signals the whole foreground group, and so does a member that signals its group:
 * then the command has it already. A timer that was set before toll was executed was meant for it.
 */
static bool command_has_it(const struct signals *s, struct toll_tracker *t,
                           const struct signalfd_siginfo *info, pid_t command)
{
    int number = (int)info->ssi_signo;
    if (info->ssi_code > 0 && is_of_terminal(number)) {
        /* The loss of the terminal is told to the leader of the session alone. */
        bool leader_only = (number == SIGHUP || number == SIGCONT) && getsid(0) == getpid();
        return !leader_only && getpgid(command) == getpgrp();
    }
    if (info->ssi_code > 0 || info->ssi_pid == (uint32_t)getpid())
        return is_own(number);
    if (s->come_to_group && getpgid(command) == getpgrp())
        return true;
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
        s->interrupted |= number == SIGINT && info.ssi_code > 0;
        if (!command && means_end(number))
            return true;
        if (!command)
            continue;
        if (number == SIGCHLD)
            follow_stop(command);
        else if (number == SIGCONT && was_continued(command))
            continue;
        else if (!command_has_it(s, t, &info, command))
            kill(command, number);
    }
    return false;
}

void signals_die_interrupted(void)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGINT);
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static struct toll_tracker *volatile waiting;

/* The terminal has shown ^C: what is printed now begins on a line of its own. */
static void end_wait(int number)
{
    if (!waiting)
        return;
    toll_tracker_hurry(waiting);
    if (number == SIGINT && isatty(STDERR_FILENO) && write(STDERR_FILENO, "\n", 1) < 0)
        return;
}

void signals_end_waiting(struct toll_tracker *t)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    waiting = t;
    if (!t)
        return;
    struct sigaction handler = {.sa_handler = end_wait, .sa_flags = SA_RESTART};
    sigset_t set;
    sigemptyset(&set);
    sigemptyset(&handler.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct sigaction before;
        if (sigaction(ends[i], NULL, &before) < 0 || before.sa_handler == SIG_IGN)
            continue; /* as nohup says */
        sigaction(ends[i], &handler, NULL);
        sigaddset(&set, ends[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
