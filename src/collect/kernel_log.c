/* SPDX-License-Identifier: MIT */
#include "collect/kernel_log.h"

#include "base/util.h"
#include "parse/kmsg.h"

#include <fcntl.h>

enum { MOST_RECORDS = 100000, RECORD_BYTES = 8192 };

/* The log has the pids of the first namespace: elsewhere ours are other processes there. */
static bool has_first_pids(const struct sysroot *root)
{
    char link[64];
    ssize_t n = readlinkat(root->proc, "self/ns/pid", link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    return strcmp(link, "pid:[4026531836]") == 0;
}

/* The log's clock is not slewed as the monotonic one is; the kernel slews by 500 in a million at
 * most. */
static uint64_t earliest_us(uint64_t since_mono_ns)
{
    uint64_t margin = since_mono_ns / 1000 + NS_PER_SECOND;
    return left_u64(since_mono_ns, margin) / NS_PER_US;
}

enum kernel_log_answer kernel_log_killed(const struct sysroot *root, pid_t pid,
                                         uint64_t since_mono_ns)
{
    CLEANUP_CLOSE int fd = root->live && has_first_pids(root)
                               ? openat(root->root, "dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                               : -1;
    if (fd < 0)
        return KERNEL_LOG_UNKNOWN;
    uint64_t since_us = earliest_us(since_mono_ns);
    bool complete = false; /* the log goes back to that moment */
    for (unsigned i = 0; i < MOST_RECORDS; i++) {
        char text[RECORD_BYTES];
        ssize_t n = read(fd, text, sizeof text);
        if (n < 0 && errno == EAGAIN)
            return complete ? KERNEL_LOG_NO : KERNEL_LOG_UNKNOWN;
        if (n < 0 && errno == EPIPE) { /* records were overwritten while we read */
            complete = false;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return KERNEL_LOG_UNKNOWN;
        struct kmsg k;
        if (parse_kmsg(scan_text(text, (size_t)n), &k) < 0)
            continue;
        complete |= k.sequence == 0 || k.time_us < since_us;
        if (k.time_us >= since_us && kmsg_tells_killed(k.message, (uint64_t)pid))
            return KERNEL_LOG_YES;
    }
    return KERNEL_LOG_UNKNOWN;
}
