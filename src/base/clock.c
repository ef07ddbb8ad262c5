/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/util.h"

#include <time.h>

/* The kernel's encoding of a process CPU clock: the pid, inverted, above a two-bit clock type
 * (2 = scheduler time); glibc offers it only behind clock_getcpuclockid and one more call. */
#define PROCESS_SCHED_CLOCK 2u
#define THREAD_SCHED_CLOCK  6u /* … of one thread */

static uint64_t to_ns(const struct timespec *ts)
{
    return (uint64_t)ts->tv_sec * NS_PER_SECOND + (uint64_t)ts->tv_nsec;
}

static uint64_t read_clock(clockid_t id)
{
    struct timespec ts = {0};
    clock_gettime(id, &ts);
    return to_ns(&ts);
}

uint64_t clock_mono(const struct clock *scripted)
{
    return scripted ? scripted->mono_ns : read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_real(const struct clock *scripted)
{
    return scripted ? scripted->real_ns : read_clock(CLOCK_REALTIME);
}

uint64_t clock_since_boot(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

uint64_t clock_own_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int clock_process_cpu(pid_t pid, uint64_t *ret_ns)
{
    clockid_t id = (clockid_t)((~(unsigned)pid << 3) | PROCESS_SCHED_CLOCK);
    struct timespec ts;
    if (clock_gettime(id, &ts) < 0)
        return errno == EINVAL || errno == ESRCH ? -ESRCH : -EOPNOTSUPP;
    *ret_ns = to_ns(&ts);
    return 0;
}

uint64_t clock_cpu_of_thread(pid_t thread)
{
    struct timespec ts;
    clockid_t id = (clockid_t)((~(unsigned)thread << 3) | THREAD_SCHED_CLOCK);
    return clock_gettime(id, &ts) < 0 ? 0 : to_ns(&ts);
}

uint64_t clock_of_timeval(struct timeval t)
{
    return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_usec * NS_PER_US;
}
