/* SPDX-License-Identifier: MIT
 * Time in nanoseconds. The engine reads a struct clock, so that a recorded run can be replayed with
 * a scripted one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

/* ==== Clock =================================================================================== */

struct clock {
    uint64_t mono_ns;
    uint64_t real_ns;
};

/* NULL: the clocks of the machine. */
uint64_t clock_mono(const struct clock *scripted);
uint64_t clock_real(const struct clock *scripted);

/* CPU time of a whole process, its threads and the dead ones of them included, children not.
 * 0, or -ESRCH when no such process is there, or -EOPNOTSUPP.
 * The kernel looks the pid up at each call, so that a reused pid is not noticed: a value that
 * changed has to be confirmed through a descriptor of the process. */
int clock_process_cpu(pid_t pid, uint64_t *ret_ns);

/* Since the machine was started, sleep included; 0 when it is not known. */
uint64_t clock_since_boot(void);

/* CPU time of the calling process. */
uint64_t clock_own_cpu(void);

/* CPU time of the calling thread. */
uint64_t clock_thread_cpu(void);

/* CPU time of a thread of the calling process; 0 when there is no such thread. */
uint64_t clock_cpu_of_thread(pid_t thread);

/* From microseconds, as in struct rusage. */
uint64_t clock_of_timeval(struct timeval t);

/* ==== Uuid ==================================================================================== */

/* Identifiers of version 7 (RFC 9562): 48 bits of time in milliseconds, then 74 random bits. They
 * sort by time and are unique without coordination. */

enum { UUID_BYTES = 37, UUID_RANDOM_BYTES = 10 }; /* with the 0 at the end */

/* random: NULL, or bits to use instead of random ones, for repeatable results. */
void uuid_make(char ret[UUID_BYTES], uint64_t real_ns, const uint8_t random[UUID_RANDOM_BYTES]);

/* Whether the text is a UUID of any version: 8-4-4-4-12 hexadecimal digits, lower case. */
bool uuid_is(const char *text, size_t length);
