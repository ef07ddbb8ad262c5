/* SPDX-License-Identifier: MIT
 * GPUs of Intel, by the files of the drivers i915 and xe.
 *
 * /sys/class/drm/card0/device/hwmon/hwmon4/energy1_input    millionths of a joule
 * /sys/class/drm/card0/gt_act_freq_mhz                      i915; gt/gt0/… since Linux 5.19
 * /sys/class/drm/card0/device/tile0/gt0/freq0/act_freq      xe
 *
 * Utilisation is not known: the drivers report it for each client (fdinfo) and not for the card,
 * and only clients of targets are read. Power is the growth of the energy counter; GPUs inside of a
 * processor have none, they are part of its package. */
#include "base/clock.h"
#include "source/gpu/drm.h"
#include "source/gpu/vendor.h"

static const char *const drivers[] = {"i915", "xe", NULL};

#define MHZ 1e6

static const struct drm_figure figures[] = {
    {gpu_energy_joules, DRM_HWMON, {"energy1_input", "energy2_input"}, 1},
    {gpu_temperature_celsius, DRM_HWMON, {"temp1_input", "temp2_input"}, 1e-3},
    {gpu_clock_sm_hertz, DRM_CARD, {"gt_act_freq_mhz", "gt/gt0/rps_act_freq_mhz"}, MHZ},
    {gpu_clock_sm_hertz, DRM_DEVICE, {"tile0/gt0/freq0/act_freq"}, MHZ},
};

static const struct drm_vendor_table table = {
    .word = "intel",
    .people = "Intel",
    .drivers = drivers,
    .figures = figures,
    .figure_count = ARRAY_LEN(figures),
};

/* The counter of energy when it was read last. */
struct intel_energy {
    bool was_read;
    uint64_t microjoules;
    uint64_t at_ns;
};

struct intel_gpu {
    struct drm_vendor drm;
    struct intel_energy *energy; /* owned, of each card */
};

static bool intel_gpu_is_likely(const struct sysroot *root)
{
    return drm_vendor_is_likely(&table, root);
}

static void intel_gpu_close(void *state)
{
    struct intel_gpu *g = state;
    if (!g)
        return;
    drm_vendor_close(&g->drm);
    free(g->energy);
    free(g);
}

static int intel_gpu_open(void **ret_state, const struct gpu_context *c,
                          struct gpu_trouble *trouble)
{
    (void)trouble;
    struct intel_gpu *g = calloc(1, sizeof *g);
    int r = g ? drm_vendor_open(&g->drm, &table, c->root) : -ENOMEM;
    if (r < 0) {
        free(g);
        return r;
    }
    g->energy = calloc(g->drm.cards.count, sizeof *g->energy);
    if (!g->energy) {
        intel_gpu_close(g);
        return -ENOMEM;
    }
    *ret_state = g;
    return 0;
}

static void intel_gpu_put_power(struct intel_energy *before, struct row *row, uint64_t now_ns)
{
    bool is_read = row_has(row, gpu_energy_joules);
    uint64_t microjoules = row_u64(row, gpu_energy_joules);
    if (is_read && before->was_read && microjoules >= before->microjoules && now_ns > before->at_ns)
        row_put_double(row, gpu_power_watts,
                       (double)(microjoules - before->microjoules) * 1e3 /
                           (double)(now_ns - before->at_ns));
    *before = (struct intel_energy){is_read, microjoules, now_ns};
}

static void intel_gpu_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                           struct gpu_trouble *trouble)
{
    struct intel_gpu *g = state;
    uint64_t now_ns = clock_mono(NULL);
    unsigned first = drm_vendor_read(&g->drm, f, pids, pid_count, now_ns, trouble);
    for (size_t i = 0; i < g->drm.cards.count && first + i < f->device_count; i++)
        intel_gpu_put_power(&g->energy[i], &f->devices[first + i].row, now_ns);
}

const struct gpu_vendor gpu_vendor_intel = {
    .name = "intel",
    .people = "Intel",
    .lost = "removed or fallen off the bus",
    .means = "i915, xe",
    .is_likely = intel_gpu_is_likely,
    .open = intel_gpu_open,
    .read = intel_gpu_read,
    .close = intel_gpu_close,
};
