/* SPDX-License-Identifier: MIT */
#include "cli/observe.h"

#include "base/clock.h"
#include "base/file.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

/* Ctrl-C is the usual way to end; the targets never hear of it. From here on it waits until it is
 * looked for. */
static sigset_t hold_signals(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return ends;
}

static int open_signals(void)
{
    sigset_t ends = hold_signals();
    int fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

/* The terminal has shown ^C: what is printed now begins on a line of its own. */
static void take_signal(struct session *s, int fd)
{
    struct signalfd_siginfo info;
    s->interrupted = true;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGINT && info.ssi_code > 0 && !s->settings.quiet &&
            isatty(STDERR_FILENO))
            fputc('\n', stderr);
}

static uint64_t now_ms(void)
{
    return clock_mono(NULL) / NS_PER_MS;
}

/* Until the time is over, as poll takes it. */
static int left_ms(uint64_t deadline_ms)
{
    uint64_t now = now_ms();
    if (deadline_ms == UINT64_MAX)
        return -1;
    return deadline_ms > now ? (int)min_u64(deadline_ms - now, 1000000) : 0;
}

/* Each process that is measured keeps a few descriptors. The library leaves the limit of a program
 * that attaches as it is; this one is ours. */
int observe_attach(struct session *s, struct toll_error *e)
{
    file_raise_limit();
    hold_signals(); /* whoever sees the first lines of a record may ask for the end */
    return toll_tracker_attach(s->tracker, e);
}

int observe(struct session *s)
{
    CLEANUP_CLOSE int signals = open_signals();
    if (signals < 0)
        return complain("cannot watch for signals: %s", strerror(-signals));
    struct pollfd fds[] = {
        {.fd = signals, .events = POLLIN},
        {.fd = toll_tracker_fd(s->tracker), .events = POLLIN},
        {.fd = s->writes_stdout ? STDOUT_FILENO : -1}, /* a reader that is gone shows as an error */
    };
    uint64_t for_ms = s->settings.for_ns / NS_PER_MS;
    uint64_t deadline_ms = s->settings.for_ns ? now_ms() + max_u64(for_ms, 1) : UINT64_MAX;
    while (toll_tracker_step(s->tracker) > 0) {
        if (poll(fds, 3, left_ms(deadline_ms)) < 0 && errno != EINTR)
            usleep(10000); /* no memory to wait with: looked for now and then */
        if (fds[0].revents & POLLIN)
            take_signal(s, signals);
        if (s->interrupted || (fds[2].revents & POLLERR) || now_ms() >= deadline_ms)
            break;
    }
    struct toll_end end = {.size = sizeof end};
    return session_finish(s, &end) ? 0 : EXIT_TOLL;
}
