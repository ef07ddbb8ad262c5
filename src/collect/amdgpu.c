/* SPDX-License-Identifier: MIT
 * GPUs of AMD, by the files of their driver: no library is needed.
 *
 * /sys/class/drm/card0/device/gpu_busy_percent       37
 * /sys/class/drm/card0/device/mem_busy_percent       4
 * /sys/class/drm/card0/device/mem_info_vram_used     1811939328
 * /sys/class/drm/card0/device/unique_id              7f9c3a5d1e2b4c68
 * /sys/class/drm/card0/device/hwmon/hwmon3/power1_average    68000000, in millionths of a watt
 * /sys/class/drm/card0/device/hwmon/hwmon3/power1_cap        203000000
 */
#include "collect/gpu_vendors.h"

#include "base/clock.h"
#include "collect/amd_kfd.h"
#include "collect/drm_vendor.h"
#include "collect/gpu_pids.h"

static const char *const drivers[] = {"amdgpu", NULL};

static const struct drm_figure figures[] = {
    {gpu_utilization_ratio, DRM_DEVICE, {"gpu_busy_percent"}, 0.01},
    {gpu_memory_controller_ratio, DRM_DEVICE, {"mem_busy_percent"}, 0.01},
    {gpu_memory_used_bytes, DRM_DEVICE, {"mem_info_vram_used"}, 1},
    {gpu_memory_total_bytes, DRM_DEVICE, {"mem_info_vram_total"}, 1},
    {gpu_power_watts, DRM_HWMON, {"power1_average", "power1_input"}, 1e-6},
    {gpu_power_limit_watts, DRM_HWMON, {"power1_cap"}, 1e-6},
    {gpu_temperature_celsius, DRM_HWMON, {"temp1_input"}, 1e-3},
    {gpu_clock_sm_hertz, DRM_HWMON, {"freq1_input"}, 1},
    {gpu_clock_memory_hertz, DRM_HWMON, {"freq2_input"}, 1},
};

static const struct drm_vendor_table table = {
    .word = "amd",
    .people = "AMD",
    .drivers = drivers,
    .figures = figures,
    .figure_count = ARRAY_LEN(figures),
};

struct amdgpu {
    struct drm_vendor drm;
    struct amd_kfd kfd;
    bool has_kfd;
    struct gpu_pids pids;
};

static bool amdgpu_is_likely(const struct sysroot *root)
{
    return drm_vendor_is_likely(&table, root);
}

static int amdgpu_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    (void)trouble;
    struct amdgpu *a = calloc(1, sizeof *a);
    int r = a ? drm_vendor_open(&a->drm, &table, c->root) : -ENOMEM;
    if (r < 0) {
        free(a);
        return r;
    }
    a->has_kfd = amd_kfd_open(&a->kfd, c->root) == 0;
    gpu_pids_init(&a->pids, c->root);
    *ret_state = a;
    return 0;
}

static void amdgpu_close(void *state)
{
    struct amdgpu *a = state;
    if (!a)
        return;
    drm_vendor_close(&a->drm);
    if (a->has_kfd)
        amd_kfd_close(&a->kfd);
    gpu_pids_done(&a->pids);
    free(a);
}

struct merge {
    struct amdgpu *amdgpu;
    struct gpu_frame *frame;
    unsigned first;
};

static void merge_memory(struct gpu_process *p, const struct amd_kfd_use *use)
{
    if (!use->has_memory)
        return;
    if (p->pid == GPU_UNKNOWN_PID)
        p->memory_bytes += use->memory_bytes; /* of different ones */
    else
        p->memory_bytes = max_u64(p->memory_bytes, use->memory_bytes);
    p->has_memory = true;
}

static void merge_share(struct gpu_process *p, const struct amd_kfd_use *use)
{
    uint64_t units = use->node->compute_units;
    bool is_sum = p->pid == GPU_UNKNOWN_PID && p->has_share;
    p->has_share = use->has_units && units;
    if (!p->has_share)
        return;
    double share = (double)use->units / (double)units + (is_sum ? p->share : 0);
    p->share = share < 1 ? share : 1;
}

/* A process that computes has the card open as well, and newer kernels count the same memory in
 * both places: the larger figure is the one that has it all. The time its queues took is told
 * nowhere; fdinfo would say 0. */
static void merge_kfd(void *arg, const struct amd_kfd_use *use)
{
    const struct merge *m = arg;
    const struct drm_cards *cards = &m->amdgpu->drm.cards;
    const struct drm_card *card = drm_cards_at(cards, use->node->pci);
    if (!card)
        return;
    pid_t pid = gpu_pids_map(&m->amdgpu->pids, use->pid);
    struct gpu_process *p = gpu_frame_process(m->frame, m->first + (unsigned)(card - cards->items),
                                              pid);
    if (!p)
        return;
    merge_memory(p, use);
    merge_share(p, use);
    p->has_busy = false;
    p->is_uncounted = true;
}

static void amdgpu_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                        struct gpu_trouble *trouble)
{
    struct amdgpu *a = state;
    uint64_t now_ns = clock_mono(NULL);
    unsigned first = drm_vendor_read(&a->drm, f, pids, pid_count, now_ns, trouble);
    gpu_pids_begin(&a->pids, pids, pid_count, now_ns);
    if (a->has_kfd)
        amd_kfd_read(&a->kfd, a->drm.root, merge_kfd, &(struct merge){a, f, first});
}

const struct gpu_vendor gpu_vendor_amdgpu = {
    .name = "amd",
    .people = "AMD",
    .lost = "it was taken out or has fallen off the bus",
    .means = "amdgpu",
    .is_likely = amdgpu_is_likely,
    .open = amdgpu_open,
    .read = amdgpu_read,
    .close = amdgpu_close,
};
