/* SPDX-License-Identifier: MIT */
#include "base/wait.h"

#include "base/clock.h"
#include "base/util.h"

#include <time.h>

void wait_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

uint64_t wait_until(int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : clock_mono(NULL) + (uint64_t)timeout_ms * NS_PER_MS;
}

bool wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return pthread_cond_wait(condition, lock) == 0;
    struct timespec until = {(time_t)(until_ns / NS_PER_SECOND), (long)(until_ns % NS_PER_SECOND)};
    return pthread_cond_timedwait(condition, lock, &until) == 0;
}
