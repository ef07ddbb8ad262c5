/* SPDX-License-Identifier: MIT
 * Which GPUs are here, and what is missing of their figures: their drivers are asked as a run asks
 * them. */
#include "source/probe.h"

#include "source/gpu/readers.h"

#include <stdio.h>
#include <string.h>

enum { ANSWER_MS = 5000, END_MS = 200 };

#define LATE_NS (4 * NS_PER_SECOND)

#define DRIVER_REMEDY                                                                              \
    "load the GPU driver (nvidia, amdgpu, i915 or xe); in a container pass the devices "           \
    "(docker run --gpus all)"

/* Power comes with the second reading where a counter of energy gives it. */
static bool gpu_lacks(const struct gpu_device *d, enum metric_id id)
{
    if (*d->facts.instance || (d->is_divided && id == gpu_utilization_ratio))
        return false;
    if (id == gpu_power_watts && row_has(&d->row, gpu_energy_joules))
        return false;
    return !row_has(&d->row, id);
}

/* "; without energy counter, power (nvidia1)" */
static void gpus_add_missing(struct buf *b, const struct gpu_frame *frame, size_t first, size_t end)
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
        struct buf names = {0};
        bool all = true;
        for (size_t d = first; d < end; d++) {
            char name[GPU_TEXT_BYTES];
            bool is_missing = gpu_lacks(&frame->devices[d], figures[i].id);
            gpu_facts_name(&frame->devices[d].facts, name, sizeof name);
            all &= is_missing;
            if (is_missing)
                buf_printf(&names, "%s%s", names.length ? ", " : "", name);
        }
        if (names.length)
            buf_printf(b, "%s%s", any ? ", " : "; without ", figures[i].word);
        if (names.length && !all)
            buf_printf(b, " (%s)", names.data);
        any |= names.length > 0;
        buf_done(&names);
    }
}

/* "nvidia0 NVIDIA A100-SXM4-40GB, nvidia1 … (NVML, driver 550.54.14); without …" Devices that are
 * read by the same means are next to each other in the frame. */
static struct buf gpus_describe(const struct gpu_frame *frame)
{
    struct buf b = {0};
    for (size_t first = 0, end; first < frame->device_count; first = end) {
        const struct gpu_facts *group = &frame->devices[first].facts;
        for (end = first; end < frame->device_count; end++) {
            const struct gpu_facts *facts = &frame->devices[end].facts;
            char name[GPU_TEXT_BYTES];
            if (strcmp(facts->means, group->means) != 0)
                break;
            gpu_facts_name(facts, name, sizeof name);
            buf_printf(&b, "%s%s%s%s",
                       end > first ? ", "
                       : first     ? "; "
                                   : "",
                       name, *facts->name ? " " : "", facts->name);
        }
        buf_printf(&b, " (%s%s%s)", group->means, *group->driver ? ", driver " : "", group->driver);
        gpus_add_missing(&b, frame, first, end);
    }
    return b;
}

static void gpus_ask_drivers(struct gpu_readers *r, bool is_likely, struct finding *f)
{
    struct gpu_frame frame = {0};
    struct gpu_trouble why;
    bool is_beginning, lists_processes = false;
    gpu_readers_ask(r, NULL, 0, 0);
    bool has_answer = gpu_readers_wait(r, ANSWER_MS, true);
    gpu_readers_take(r, &frame);
    gpu_readers_excuse(r, &why);
    const struct gpu_vendor *late = gpu_readers_late(r, LATE_NS, &is_beginning);
    bool has_message = gpu_readers_say(r, &why), has_trouble = has_message || late;
    if (late && !has_message)
        snprintf(why.sentence, sizeof why.sentence, "%s GPUs (%s) have not answered for %d s",
                 late->people, late->means, ANSWER_MS / 1000);
    for (size_t i = 0; i < frame.device_count; i++)
        lists_processes |= frame.devices[i].lists != 0;
    if (frame.device_count) {
        struct buf devices = gpus_describe(&frame);
        const char *known = buf_failed(&devices) ? "" : devices.data;
        if (has_trouble)
            finding_partly(f, "%s; %s", known, why.sentence);
        else if (!lists_processes)
            finding_partly(f, "%s; no usage per process", known);
        else
            finding_detail(f, "%s", known);
        buf_done(&devices);
    } else {
        bool has_reason = (has_trouble || is_likely) && *why.sentence;
        finding_missing(f, "%s", has_reason ? why.sentence : "no GPU with a driver found");
        finding_remedy(f, "%s",
                       !has_answer   ? "check the kernel log: dmesg"
                       : has_trouble ? "fix this, then run: toll doctor gpus"
                                     : DRIVER_REMEDY);
    }
    gpu_frame_done(&frame);
}

void probe_gpus(const struct probe_facts *p, struct finding *f)
{
    struct gpu_readers *r;
    bool is_likely = gpu_vendors_are_likely(gpu_vendors, &p->root);
    finding_ok(f, "sampled", "NVML, sysfs, fdinfo");
    if (!p->root.live && is_likely) {
        finding_unknown(f, "not available on a recorded machine");
    } else if (!p->root.live) {
        finding_missing(f, "no GPU with a driver found");
        finding_remedy(f, DRIVER_REMEDY);
    } else {
        int result = gpu_readers_start(&r, &p->root, gpu_vendors, true);
        if (result < 0) {
            finding_unknown(f, "cannot start a thread: %s", strerror(-result));
            return;
        }
        gpus_ask_drivers(r, is_likely, f);
        gpu_readers_free(r, END_MS);
    }
}
