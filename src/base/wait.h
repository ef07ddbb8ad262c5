/* SPDX-License-Identifier: MIT
 * Waiting for another thread, by the monotonic clock. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void wait_init(pthread_cond_t *condition);

/* The end of a time that begins now; a negative one never ends. */
uint64_t wait_until(int timeout_ms);

/* False when the time is over. May return without a reason, as conditions do. */
bool wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);
