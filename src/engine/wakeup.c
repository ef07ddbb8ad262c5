/* SPDX-License-Identifier: MIT */
#include "engine/wakeup.h"

#include "engine/timeout.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

int wakeup_watch(struct toll_tracker *t, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void wakeup_arm(struct toll_tracker *t)
{
    uint64_t due_ns = min_u64(schedule_due(&t->schedule), timeout_due(t));
    struct itimerspec when = {
        .it_value = {(time_t)(due_ns / NS_PER_SECOND), (long)(due_ns % NS_PER_SECOND)},
    };
    timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int wakeup_open(struct toll_tracker *t, bool only_the_clock)
{
    t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (only_the_clock) {
        t->epoll = t->timer;
        return t->timer < 0 ? -errno : 0;
    }
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    return t->epoll < 0 || t->timer < 0 || wakeup_watch(t, t->timer) < 0 ? -errno : 0;
}

void wakeup_close(struct toll_tracker *t)
{
    if (t->epoll != t->timer)
        close_p(&t->epoll);
    close_p(&t->timer);
    t->epoll = -1;
}
