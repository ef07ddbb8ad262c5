/* SPDX-License-Identifier: MIT */
#include "collect/gpu_vendor.h"

#include <string.h>

enum { FIRST_CAPACITY = 8 };

/* Room for one more, or NULL; what was there stays. */
static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity ? 2 * *capacity : FIRST_CAPACITY;
    void *moved = reallocarray(items, larger, size);
    if (moved)
        *capacity = larger;
    return moved;
}

struct gpu_device *gpu_frame_add_device(struct gpu_frame *f)
{
    struct gpu_device *devices = grow(f->devices, f->device_count, &f->device_capacity,
                                      sizeof *devices);
    if (!devices)
        return NULL;
    f->devices = devices;
    struct gpu_device *d = &devices[f->device_count++];
    memset(d, 0, sizeof *d);
    d->facts.vendor = d->facts.means = "";
    row_init(&d->row, ENTITY_GPU);
    return d;
}

static struct gpu_process *add_process(struct gpu_frame *f)
{
    struct gpu_process *processes = grow(f->processes, f->process_count, &f->process_capacity,
                                         sizeof *processes);
    if (!processes)
        return NULL;
    f->processes = processes;
    return &processes[f->process_count++];
}

struct gpu_process *gpu_frame_process(struct gpu_frame *f, unsigned device, pid_t pid)
{
    for (size_t i = f->process_count; i--;) /* those of the same device are the last */
        if (f->processes[i].device == device && f->processes[i].pid == pid)
            return &f->processes[i];
    struct gpu_process *p = add_process(f);
    if (p)
        *p = (struct gpu_process){.device = device, .pid = pid};
    return p;
}

bool gpu_frame_add_process(struct gpu_frame *f, const struct gpu_process *p)
{
    struct gpu_process *added = add_process(f);
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
            p = add_process(f);
        if (!p)
            continue;
        *p = part->processes[i];
        p->device = place + device;
    }
}

void gpu_frame_clear(struct gpu_frame *f)
{
    f->device_count = f->process_count = 0;
    f->began_ns = 0;
    f->energy_only = false;
}

void gpu_frame_done(struct gpu_frame *f)
{
    free(f->devices);
    free(f->processes);
    *f = (struct gpu_frame){0};
}
