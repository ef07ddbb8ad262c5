/* SPDX-License-Identifier: MIT */
#include "collect/smi_pace.h"

#include "base/util.h"

/* It rests so many times as long as it ran, within these limits. */
enum { REST = 4 };
#define SHORTEST_NS NS_PER_SECOND
#define LONGEST_NS  (10 * NS_PER_SECOND)

bool smi_pace_is_due(const struct smi_pace *p, uint64_t now_ns)
{
    return now_ns >= p->next_ns;
}

void smi_pace_took(struct smi_pace *p, uint64_t began_ns, uint64_t ended_ns)
{
    uint64_t rest_ns = min_u64(REST * (ended_ns - began_ns), LONGEST_NS);
    p->next_ns = max_u64(ended_ns + rest_ns, began_ns + SHORTEST_NS);
}

void smi_pace_copy(const struct smi_pace *p, struct gpu_frame *f)
{
    unsigned first = (unsigned)f->device_count;
    for (size_t i = 0; i < p->kept.device_count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d) {
            f->device_count = first;
            return;
        }
        *d = p->kept.devices[i];
    }
    for (size_t i = 0; i < p->kept.process_count; i++) {
        const struct gpu_process *from = &p->kept.processes[i];
        struct gpu_process *to = gpu_frame_process(f, first + from->device, from->pid);
        if (!to)
            return;
        *to = *from;
        to->device = first + from->device;
    }
}

void smi_pace_done(struct smi_pace *p)
{
    gpu_frame_done(&p->kept);
}
