/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include "base/util.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ==== Clock =================================================================================== */

/* The kernel's encoding of a process CPU clock: the pid, inverted, above a two-bit clock type
 * (2 = scheduler time); through clock_getcpuclockid of glibc it would take one more call. */
#define PROCESS_SCHED_CLOCK 2u
#define THREAD_SCHED_CLOCK  6u /* the same of one thread */

static uint64_t clock_of_timespec(const struct timespec *ts)
{
    return (uint64_t)ts->tv_sec * NS_PER_SECOND + (uint64_t)ts->tv_nsec;
}

static uint64_t clock_read(clockid_t id)
{
    struct timespec ts = {0};
    clock_gettime(id, &ts);
    return clock_of_timespec(&ts);
}

uint64_t clock_mono(const struct clock *scripted)
{
    return scripted ? scripted->mono_ns : clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_real(const struct clock *scripted)
{
    return scripted ? scripted->real_ns : clock_read(CLOCK_REALTIME);
}

uint64_t clock_since_boot(void)
{
    return clock_read(CLOCK_BOOTTIME);
}

uint64_t clock_own_cpu(void)
{
    return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

int clock_process_cpu(pid_t pid, uint64_t *ret_ns)
{
    clockid_t id = (clockid_t)((~(unsigned)pid << 3) | PROCESS_SCHED_CLOCK);
    struct timespec ts;
    if (clock_gettime(id, &ts) < 0)
        return errno == EINVAL || errno == ESRCH ? -ESRCH : -EOPNOTSUPP;
    *ret_ns = clock_of_timespec(&ts);
    return 0;
}

uint64_t clock_cpu_of_thread(pid_t thread)
{
    struct timespec ts;
    clockid_t id = (clockid_t)((~(unsigned)thread << 3) | THREAD_SCHED_CLOCK);
    return clock_gettime(id, &ts) < 0 ? 0 : clock_of_timespec(&ts);
}

uint64_t clock_of_timeval(struct timeval t)
{
    return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_usec * NS_PER_US;
}

/* ==== Uuid ==================================================================================== */

/* Early after booting the kernel may have no random bits yet, and waiting for them would hold up a
 * job. The process and its clocks are unlike those of any other process of this machine. */
static void uuid_fill_random(uint8_t ret[UUID_RANDOM_BYTES])
{
    if (getrandom(ret, UUID_RANDOM_BYTES, GRND_NONBLOCK) == UUID_RANDOM_BYTES)
        return;
    uint64_t state = (uint64_t)getpid() << 32 ^ clock_mono(NULL) ^ clock_real(NULL) << 20 ^
                     (uint64_t)(uintptr_t)&state;
    for (size_t i = 0; i < UUID_RANDOM_BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ret[i] = (uint8_t)(state >> 56);
    }
}

void uuid_make(char ret[UUID_BYTES], uint64_t real_ns, const uint8_t random[UUID_RANDOM_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];
    uint64_t ms = real_ns / NS_PER_MS;
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    if (random)
        memcpy(bytes + 6, random, UUID_RANDOM_BYTES);
    else
        uuid_fill_random(bytes + 6);
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0F)); /* version 7 */
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3F)); /* variant of RFC 9562 */
    for (unsigned i = 0; i < sizeof bytes; i++) {
        *ret++ = digits[bytes[i] >> 4];
        *ret++ = digits[bytes[i] & 15];
        if (i == 3 || i == 5 || i == 7 || i == 9)
            *ret++ = '-';
    }
    *ret = '\0';
}

bool uuid_is(const char *text, size_t length)
{
    if (length != UUID_BYTES - 1)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-'
                    : !((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    }
    return true;
}
