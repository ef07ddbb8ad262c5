/* SPDX-License-Identifier: MIT */
#include "source/gpu/vendor.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ==== Gpu sentences =========================================================================== */

void gpu_sentences_say(struct gpu_sentences *s, const struct gpu_trouble *trouble)
{
    if (!*trouble->sentence || s->said_count == ARRAY_LEN(s->said))
        return;
    for (unsigned i = 0; i < s->said_count; i++)
        if (strcmp(s->said[i].sentence, trouble->sentence) == 0)
            return;
    s->said[s->said_count++] = *trouble;
}

void gpu_sentences_say_lost(struct gpu_sentences *s, const struct gpu_device *d)
{
    const struct gpu_facts *f = &d->facts;
    struct gpu_trouble trouble;
    snprintf(trouble.sentence, sizeof trouble.sentence,
             "%s's GPU %u (%s) is lost: %s, and its figures end here", d->vendor->people, f->index,
             *f->uuid ? f->uuid : f->pci, d->vendor->lost);
    gpu_sentences_say(s, &trouble);
}

bool gpu_sentences_tell(struct gpu_sentences *s, struct gpu_trouble *ret)
{
    if (s->told_count == s->said_count)
        return false;
    *ret = s->said[s->told_count++];
    return true;
}

/* ==== Gpu frame =============================================================================== */

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
    f->began_ns = 0;
    f->energy_only = false;
}

void gpu_frame_done(struct gpu_frame *f)
{
    free(f->devices);
    free(f->processes);
    *f = (struct gpu_frame){0};
}

/* ==== Gpu vendors ============================================================================= */

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_vendor_nvml,
    &gpu_vendor_amdgpu,
    &gpu_vendor_intel,
    NULL,
};

const struct gpu_vendor *const *gpu_vendor_next(const struct gpu_vendor *const *first)
{
    const struct gpu_vendor *const *next = first + 1;
    while (*next && (*next)->instead_of)
        next++;
    return next;
}

bool gpu_vendor_is_likely(const struct gpu_vendor *const *first, const struct sysroot *root)
{
    for (const struct gpu_vendor *const *v = first; v < gpu_vendor_next(first); v++)
        if ((*v)->is_likely(root))
            return true;
    return false;
}

bool gpu_vendors_are_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root)
{
    for (; *vendors; vendors = gpu_vendor_next(vendors))
        if (gpu_vendor_is_likely(vendors, root))
            return true;
    return false;
}
