/* SPDX-License-Identifier: MIT
 * GPUs: their drivers are asked as a run asks them, in a thread of its own. */
#include "collect/gpu_reader.h"
#include "engine/doctor.h"

#include <stdio.h>
#include <string.h>

enum { BEGIN_MS = 5000, END_MS = 200 };

#define REMEDY                                                                                     \
    "load the driver of the GPU (nvidia, amdgpu, i915 or xe); in a container hand the devices in " \
    "(docker run --gpus all)"

static bool is_likely(const struct sysroot *root)
{
    for (size_t i = 0; gpu_vendors[i]; i++)
        if (gpu_vendors[i]->is_likely(root))
            return true;
    return false;
}

/* "2 nvidia (driver 550.54.14), 1 amd" */
static void describe(struct finding *f, const struct gpu_frame *frame)
{
    struct buf b = {0};
    for (size_t i = 0; i < frame->device_count;) {
        const struct gpu_facts *facts = &frame->devices[i].facts;
        size_t count = 0;
        for (;
             i < frame->device_count && strcmp(frame->devices[i].facts.vendor, facts->vendor) == 0;
             i++)
            count++;
        buf_printf(&b, "%s%zu %s", b.length ? ", " : "", count, facts->vendor);
        if (*facts->driver)
            buf_printf(&b, " (driver %s)", facts->driver);
    }
    finding_detail(f, "%s", b.data ? b.data : "");
    buf_done(&b);
}

static bool tells_processes(const struct gpu_frame *frame)
{
    for (size_t i = 0; i < frame->device_count; i++)
        if (frame->devices[i].tells)
            return true;
    return false;
}

static void ask(struct gpu_reader *r, bool likely, struct finding *f)
{
    struct gpu_frame frame = {0};
    struct gpu_trouble why;
    gpu_reader_ask(r, NULL, 0, 0);
    bool has_frame = gpu_reader_wait_frame(r, BEGIN_MS);
    gpu_reader_take(r, &frame);
    gpu_reader_excuse(r, &why);
    bool says = gpu_reader_says(r, &why);
    if (frame.device_count) {
        describe(f, &frame);
        if (says)
            finding_partly(f, "%s", why.sentence);
        else if (!tells_processes(&frame))
            finding_partly(f, "devices answer, but do not tell which process uses them");
    } else if (!has_frame && gpu_reader_vendors(r) != 0) {
        finding_missing(f, "the driver has not answered for %d s", BEGIN_MS / 1000);
        finding_remedy(f, "see what it writes to the kernel log: dmesg");
    } else {
        finding_missing(
            f, "%s", (says || likely) && *why.sentence ? why.sentence : "no GPU that has a driver");
        finding_remedy(f, REMEDY);
    }
    gpu_frame_done(&frame);
}

void doctor_gpus(const struct doctor_facts *d, struct finding *f)
{
    struct gpu_reader *r;
    finding_ok(f, "sampled", "NVML, sysfs, fdinfo");
    if (!d->root.live) {
        if (is_likely(&d->root)) {
            finding_unknown(f, "a recorded machine has no driver to ask");
        } else {
            finding_missing(f, "no GPU that has a driver");
            finding_remedy(f, REMEDY);
        }
        return;
    }
    int result = gpu_reader_start(&r, &d->root, gpu_vendors, true);
    if (result < 0) {
        finding_unknown(f, "no thread to ask in: %s", strerror(-result));
        return;
    }
    ask(r, is_likely(&d->root), f);
    gpu_reader_free(r, END_MS);
}
