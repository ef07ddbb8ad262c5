/* SPDX-License-Identifier: MIT
 * Time in nanoseconds. A struct clock is what the engine asks, so that a recorded run can be
 * replayed against a scripted one; NULL means the machine's own. */
#pragma once

#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

struct clock {
    uint64_t mono_ns;
    uint64_t real_ns;
};

/* Both take NULL for the live clocks. */
uint64_t clock_mono(const struct clock *scripted);
uint64_t clock_real(const struct clock *scripted);

/* CPU time of a whole process, its threads and the dead ones of them included, children not.
 * 0, or -ESRCH when no such process is there, or -EOPNOTSUPP.
 * The kernel looks the pid up anew at each call: a reused pid is answered without a word, so a
 * value that changed has to be confirmed through a descriptor bound to the process. */
int clock_process_cpu(pid_t pid, uint64_t *ret_ns);

/* Since the machine was started, sleep included; 0 when it is not known. */
uint64_t clock_since_boot(void);

/* CPU time of the calling process. */
uint64_t clock_own_cpu(void);

/* CPU time of the calling thread. */
uint64_t clock_thread_cpu(void);

/* CPU time of a thread of the calling process; 0 when there is no such thread. */
uint64_t clock_cpu_of_thread(pid_t thread);

/* What the kernel tells in microseconds (struct rusage). */
uint64_t clock_of_timeval(struct timeval t);
