/* SPDX-License-Identifier: MIT
 * toll run: start a command, measure it, be gone when it is. */
#include "base/err.h"
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

/* What a command that could not be started exits with. */
static int status_of_failure(int exec_errno)
{
    if (!exec_errno)
        return EXIT_TOLL;
    return exec_errno == ENOENT || exec_errno == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
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
static void just_wait(struct session *s, struct signals *signals, struct toll_end *ret)
{
    pid_t command = toll_tracker_pid(s->tracker), found;
    int status = 0;
    while ((found = waitpid(command, &status, WNOHANG)) == 0 || (found < 0 && errno == EINTR)) {
        struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
        wait_for(&fd, 1, 1000);
        signals_forward(signals, s->tracker);
    }
    ret->ended = true;
    ret->unknown = found < 0;
    ret->signaled = WIFSIGNALED(status);
    ret->status = ret->signaled ? WTERMSIG(status) : WEXITSTATUS(status);
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

void run_command(struct session *s, char **command, struct outcome *ret)
{
    struct signals signals = {.fd = -1, .come_to_group = s->settings.signals_come_to_group};
    *ret = (struct outcome){.status = EXIT_TOLL, .end = {.size = sizeof ret->end}};
    if (signals_open(&signals) < 0) {
        err_set(&ret->error, -errno, "cannot watch for signals: %s", strerror(errno));
        return;
    }
    struct toll_launch launch = {
        .size = sizeof launch,
        .signal_mask = &signals.mask,
        .ignore_sigchld = signals.ignore_sigchld,
    };
    int r = toll_tracker_launch(s->tracker, command, &launch, &ret->error);
    if (r < 0 && !toll_tracker_pid(s->tracker)) {
        ret->exec_errno = launch.exec_errno;
        ret->status = status_of_failure(launch.exec_errno);
        return;
    }
    ret->has_run = true;
    if (r < 0) {
        complain("%s", ret->error.message);
        just_wait(s, &signals, &ret->end);
    } else {
        measure(s, &signals);
        signals_forward(&signals, s->tracker); /* the end may have been seen before its reason */
        session_finish(s, &ret->end);
        ret->is_measured = true;
    }
    ret->interrupted = signals.interrupted && ret->end.signaled && ret->end.status == SIGINT &&
                       ret->is_measured;
    ret->status = status_of(&ret->end);
}

int run_main(int argc, char **argv)
{
    struct session s;
    struct outcome outcome = {0};
    if (session_open(&s, argc, argv, &outcome.status) == 0) {
        if (s.first_word >= argc)
            outcome.status = complain(
                "there is no command to run; toll run [options] [--] COMMAND…");
        else
            run_command(&s, argv + s.first_word, &outcome);
        if (!outcome.has_run && outcome.error.message[0])
            complain("%s", outcome.error.message);
    }
    session_close(&s);
    if (outcome.interrupted)
        signals_die_interrupted();
    return outcome.status;
}
