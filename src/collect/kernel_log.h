/* SPDX-License-Identifier: MIT
 * What the kernel's log says about the end of a process. */
#pragma once

#include "base/sysroot.h"

#include <sys/types.h>

enum kernel_log_answer {
    KERNEL_LOG_UNKNOWN, /* it may not be read, has lost what was written then, or is not ours */
    KERNEL_LOG_NO,
    KERNEL_LOG_YES,
};

/* Whether the kernel killed the process for want of memory after that moment of the monotonic
 * clock. Reads what is there and does not wait. */
enum kernel_log_answer kernel_log_killed(const struct sysroot *root, pid_t pid,
                                         uint64_t since_mono_ns);
