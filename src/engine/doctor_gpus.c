/* SPDX-License-Identifier: MIT
 * GPUs: their drivers are asked as a run asks them, in a thread of its own. */
#include "collect/gpu_readers.h"
#include "engine/doctor.h"
#include "engine/gpu_choice.h"

#include <stdio.h>
#include <string.h>

enum { BEGIN_MS = 5000, END_MS = 200 };

#define LATE_NS (4 * NS_PER_SECOND)

#define REMEDY                                                                                     \
    "load the driver of the GPU (nvidia, amdgpu, i915 or xe); in a container hand the devices in " \
    "(docker run --gpus all)"

/* Devices that are read by the same means stand together. */
static size_t group_end(const struct gpu_frame *frame, size_t first)
{
    size_t end = first;
    while (end < frame->device_count &&
           strcmp(frame->devices[end].facts.means, frame->devices[first].facts.means) == 0)
        end++;
    return end;
}

/* Power comes with the second reading where a counter of energy gives it. */
static bool lacks(const struct gpu_device *d, enum metric_id id)
{
    if (*d->facts.instance || (d->is_divided && id == gpu_utilization_ratio))
        return false;
    if (id == gpu_power_watts && row_has(&d->row, gpu_energy_joules))
        return false;
    return !row_has(&d->row, id);
}

/* "without energy counter, power (nvidia1)" */
static void add_missing(struct buf *b, const struct gpu_frame *frame, size_t first, size_t end)
{
    static const struct {
        enum metric_id id;
        const char *word;
    } figures[] = {
        {gpu_utilization_ratio, "utilisation"},
        {gpu_memory_used_bytes, "memory"},
        {gpu_power_watts, "power"},
        {gpu_energy_joules, "energy counter"},
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        struct buf who = {0};
        bool all = true;
        for (size_t d = first; d < end; d++) {
            char name[GPU_TEXT_BYTES];
            bool is_missing = lacks(&frame->devices[d], figures[i].id);
            gpu_choice_name(&frame->devices[d].facts, name, sizeof name);
            all &= is_missing;
            if (is_missing)
                buf_printf(&who, "%s%s", who.length ? ", " : "", name);
        }
        if (who.length)
            buf_printf(b, "%s%s", any ? ", " : "; without ", figures[i].word);
        if (who.length && !all)
            buf_printf(b, " (%s)", who.data);
        any |= who.length > 0;
        buf_done(&who);
    }
}

/* "nvidia0 NVIDIA A100-SXM4-40GB, nvidia1 … (NVML, driver 550.54.14); without …" */
static struct buf describe(const struct gpu_frame *frame)
{
    struct buf b = {0};
    for (size_t first = 0, end; first < frame->device_count; first = end) {
        end = group_end(frame, first);
        for (size_t i = first; i < end; i++) {
            const struct gpu_facts *facts = &frame->devices[i].facts;
            char name[GPU_TEXT_BYTES];
            gpu_choice_name(facts, name, sizeof name);
            buf_printf(&b, "%s%s%s%s",
                       i > first ? ", "
                       : first   ? "; "
                                 : "",
                       name, *facts->name ? " " : "", facts->name);
        }
        const struct gpu_facts *facts = &frame->devices[first].facts;
        buf_printf(&b, " (%s%s%s)", facts->means, *facts->driver ? ", driver " : "", facts->driver);
        add_missing(&b, frame, first, end);
    }
    return b;
}

static bool tells_processes(const struct gpu_frame *frame)
{
    for (size_t i = 0; i < frame->device_count; i++)
        if (frame->devices[i].tells)
            return true;
    return false;
}

/* What is wrong beside the devices that are there: the first sentence that a vendor has, or one for
 * the vendor that has not answered. */
static bool find_trouble(struct gpu_readers *r, struct gpu_trouble *ret)
{
    bool is_beginning;
    const struct gpu_vendor *late = gpu_readers_late(r, LATE_NS, &is_beginning);
    if (gpu_readers_say(r, ret))
        return true;
    if (late)
        snprintf(ret->sentence, sizeof ret->sentence, "%s GPUs (%s) have not answered for %d s",
                 late->people, late->means, BEGIN_MS / 1000);
    return late;
}

static void ask(struct gpu_readers *r, bool likely, struct finding *f)
{
    struct gpu_frame frame = {0};
    struct gpu_trouble why;
    gpu_readers_ask(r, NULL, 0, 0);
    bool has_answer = gpu_readers_wait(r, BEGIN_MS, true);
    gpu_readers_take(r, &frame);
    gpu_readers_excuse(r, &why);
    bool has_trouble = find_trouble(r, &why);
    if (frame.device_count) {
        struct buf devices = describe(&frame);
        const char *known = buf_failed(&devices) ? "" : devices.data;
        if (has_trouble)
            finding_partly(f, "%s; %s", known, why.sentence);
        else if (!tells_processes(&frame))
            finding_partly(f, "%s; they do not tell which process uses them", known);
        else
            finding_detail(f, "%s", known);
        buf_done(&devices);
    } else {
        bool is_reason = (has_trouble || likely) && *why.sentence;
        finding_missing(f, "%s", is_reason ? why.sentence : "no GPU that has a driver");
        finding_remedy(f, "%s",
                       !has_answer   ? "see what the driver writes to the kernel log: dmesg"
                       : has_trouble ? "mend that, then see: toll doctor gpus"
                                     : REMEDY);
    }
    gpu_frame_done(&frame);
}

void doctor_gpus(const struct doctor_facts *d, struct finding *f)
{
    struct gpu_readers *r;
    finding_ok(f, "sampled", "NVML, sysfs, fdinfo");
    if (!d->root.live) {
        if (gpu_vendors_are_likely(gpu_vendors, &d->root)) {
            finding_unknown(f, "a recorded machine has no driver to ask");
        } else {
            finding_missing(f, "no GPU that has a driver");
            finding_remedy(f, REMEDY);
        }
        return;
    }
    int result = gpu_readers_start(&r, &d->root, gpu_vendors, true);
    if (result < 0) {
        finding_unknown(f, "no thread to ask in: %s", strerror(-result));
        return;
    }
    ask(r, gpu_vendors_are_likely(gpu_vendors, &d->root), f);
    gpu_readers_free(r, END_MS);
}
