/* SPDX-License-Identifier: MIT
 *
 * 2400000
 *  kHz, or <unknown>
 */
#include "collect/cpu_frequency.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>

static int open_frequency(const struct sysroot *root, unsigned cpu)
{
    char path[96];
    snprintf(path, sizeof path, "devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
    int fd = root->sys < 0 ? -1 : openat(root->sys, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -ENOENT : fd;
}

int cpu_frequency_read(struct cpu_frequency *f, const struct sysroot *root, unsigned cpu, bool keep,
                       uint64_t *ret_hertz)
{
    CLEANUP_CLOSE int fd = take_fd(&f->fd);
    if (fd < 0)
        fd = open_frequency(root, cpu);
    if (fd < 0)
        return fd;
    char text[32];
    ssize_t n = file_reread(fd, text, sizeof text);
    if (n < 0)
        return (int)n; /* the CPU went offline: opened anew when it is back */
    if (keep)
        f->fd = take_fd(&fd);
    struct scan s = scan_text(text, (size_t)n);
    uint64_t khz;
    if (!scan_u64(&s, &khz) || !scan_word(&s, "\n") || khz > UINT64_MAX / 1000)
        return -EBADMSG;
    *ret_hertz = khz * 1000;
    return 0;
}

void cpu_frequency_done(struct cpu_frequency *f)
{
    close_p(&f->fd);
    *f = CPU_FREQUENCY_NONE;
}
