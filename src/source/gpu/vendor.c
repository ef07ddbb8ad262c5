/* SPDX-License-Identifier: MIT */
#include "source/gpu/vendor.h"

#include "base/memory.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_vendor_nvml,
    &gpu_vendor_amdgpu,
    &gpu_vendor_intel,
    NULL,
};

bool gpu_traces_are_here(void)
{
    static const char *const traces[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl",
                                         "/sys/class/drm"};
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(traces) && !any; i++)
        any = access(traces[i], F_OK) == 0;
    return any;
}

bool gpu_vendors_are_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root)
{
    for (; *vendors; vendors++)
        if ((*vendors)->is_likely(root))
            return true;
    return false;
}

void gpu_facts_name(const struct gpu_facts *f, char *ret, size_t size)
{
    snprintf(ret, size, "%s%u%s%s", f->vendor, f->index, *f->instance ? ":" : "", f->instance);
}

/* ---- Frame ----------------------------------------------------------------------------------- */

struct gpu_device *gpu_frame_add_device(struct gpu_frame *f)
{
    if (!ARRAY_RESERVE(f->devices, f->device_capacity, f->device_count + 1))
        return NULL;
    struct gpu_device *d = &f->devices[f->device_count++];
    memset(d, 0, sizeof *d);
    d->facts.vendor = d->facts.means = "";
    row_init(&d->row, ENTITY_GPU);
    return d;
}

static struct gpu_process *gpu_frame_grow_processes(struct gpu_frame *f)
{
    if (!ARRAY_RESERVE(f->processes, f->process_capacity, f->process_count + 1))
        return NULL;
    return &f->processes[f->process_count++];
}

struct gpu_process *gpu_frame_process(struct gpu_frame *f, unsigned device, pid_t pid)
{
    for (size_t i = f->process_count; i--;) /* those of the same device are the last */
        if (f->processes[i].device == device && f->processes[i].pid == pid)
            return &f->processes[i];
    struct gpu_process *p = gpu_frame_grow_processes(f);
    if (p)
        *p = (struct gpu_process){.device = device, .pid = pid};
    return p;
}

bool gpu_frame_add_process(struct gpu_frame *f, const struct gpu_process *p)
{
    struct gpu_process *added = gpu_frame_grow_processes(f);
    if (added)
        *added = *p;
    return added;
}

size_t gpu_frame_count(const struct gpu_frame *f, unsigned device)
{
    size_t count = 0;
    for (size_t i = 0; i < f->process_count; i++)
        count += f->processes[i].device == device;
    return count;
}

void gpu_frame_join(struct gpu_frame *f, const struct gpu_frame *part, unsigned place,
                    unsigned count)
{
    for (size_t i = 0; i < count && i < part->device_count; i++) {
        if (place + i == f->device_count)
            gpu_frame_add_device(f);
        if (place + i < f->device_count)
            f->devices[place + i] = part->devices[i];
    }
    for (size_t i = 0; i < part->process_count; i++) {
        unsigned device = part->processes[i].device;
        struct gpu_process *p = NULL;
        if (device < count && place + device < f->device_count)
            p = gpu_frame_grow_processes(f);
        if (!p)
            continue;
        *p = part->processes[i];
        p->device = place + device;
    }
}

void gpu_frame_clear(struct gpu_frame *f)
{
    f->device_count = f->process_count = 0;
    f->energy_only = false;
}

void gpu_frame_done(struct gpu_frame *f)
{
    free(f->devices);
    free(f->processes);
    *f = (struct gpu_frame){0};
}
