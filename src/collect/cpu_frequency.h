/* SPDX-License-Identifier: MIT
 * /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq: the frequency of one CPU. */
#pragma once

#include "base/sysroot.h"
#include "base/util.h"

struct cpu_frequency {
    int fd; /* kept open, or -1 */
};

#define CPU_FREQUENCY_NONE ((struct cpu_frequency){.fd = -1})

/* keep: through a descriptor that stays open. 0, -ENOENT when this machine does not tell, or
 * another -errno. */
int cpu_frequency_read(struct cpu_frequency *f, const struct sysroot *root, unsigned cpu, bool keep,
                       uint64_t *ret_hertz);
void cpu_frequency_done(struct cpu_frequency *f);
