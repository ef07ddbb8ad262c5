/* SPDX-License-Identifier: MIT
 * toll run: start a command, measure it, be gone when it is. */
#include "cli/session.h"
#include "cli/signals.h"

#include <poll.h>
#include <string.h>
#include <sys/wait.h>

static int status_of(const struct toll_end *end)
{
    if (end->unknown)
        return EXIT_TOLL;
    return end->signaled ? EXIT_SIGNAL + end->status : end->status;
}

static int failed_launch(const struct toll_launch *launch, const struct toll_error *e)
{
    complain("%s", e->message);
    if (!launch->exec_errno)
        return EXIT_TOLL;
    return launch->exec_errno == ENOENT || launch->exec_errno == ENOTDIR ? EXIT_NOT_FOUND
                                                                         : EXIT_NOT_EXECUTABLE;
}

/* Until something has come. Where the kernel cannot wait (it has no memory) it is looked for now
 * and then: nothing ends the wait but the command. */
static void wait_for(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = 0;
    if (poll(fds, count, timeout_ms) < 0 && errno != EINTR) {
        usleep(10000);
        fds[0].revents = POLLIN;
    }
}

/* toll cannot measure, but the command runs: see it to its end. */
static int just_wait(struct session *s, struct signals *signals)
{
    pid_t command = toll_tracker_pid(s->tracker);
    int status;
    while (waitpid(command, &status, WNOHANG) == 0) {
        struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
        wait_for(&fd, 1, 1000);
        signals_forward(signals, s->tracker);
    }
    return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Until the target has ended, or the wait for what the command left behind is cut short. */
static void measure(struct session *s, struct signals *signals)
{
    struct pollfd fds[] = {
        {.fd = signals->fd, .events = POLLIN},
        {.fd = toll_tracker_fd(s->tracker), .events = POLLIN},
    };
    while (toll_tracker_step(s->tracker) > 0) {
        wait_for(fds, 2, -1);
        if ((fds[0].revents & POLLIN) && signals_forward(signals, s->tracker))
            break;
    }
}

static int run(struct session *s, char **command, bool *ret_interrupted)
{
    struct signals signals = {.fd = -1};
    if (signals_open(&signals) < 0)
        return complain("cannot watch for signals: %s", strerror(errno));
    struct toll_launch launch = {
        .size = sizeof launch,
        .signal_mask = &signals.mask,
        .ignore_sigchld = signals.ignore_sigchld,
    };
    struct toll_error e = {0};
    int r = toll_tracker_launch(s->tracker, command, &launch, &e);
    if (r < 0 && toll_tracker_pid(s->tracker)) {
        complain("%s", e.message);
        return just_wait(s, &signals);
    }
    if (r < 0)
        return failed_launch(&launch, &e);
    measure(s, &signals);
    signals_forward(&signals, s->tracker); /* the end may have been seen before its reason */
    struct toll_end end = {.size = sizeof end};
    session_finish(s, &end);
    *ret_interrupted = signals.interrupted && end.signaled && end.status == SIGINT;
    return status_of(&end);
}

int run_main(int argc, char **argv)
{
    struct session s;
    int status;
    bool interrupted = false;
    if (session_open(&s, argc, argv, &status) == 0) {
        if (s.first_word >= argc)
            status = complain("there is no command to run; toll run [options] [--] COMMAND…");
        else
            status = run(&s, argv + s.first_word, &interrupted);
    }
    session_close(&s);
    if (interrupted)
        signals_die_interrupted();
    return status;
}
