/* SPDX-License-Identifier: MIT
 * GPUs of AMD, by the files of their driver: no library is needed.
 *
 * /sys/class/drm/card0/device/gpu_busy_percent       37
 * /sys/class/drm/card0/device/mem_busy_percent       4
 * /sys/class/drm/card0/device/mem_info_vram_used     1811939328
 * /sys/class/drm/card0/device/unique_id              7f9c3a5d1e2b4c68
 * /sys/class/drm/card0/device/hwmon/hwmon3/power1_average    68000000, in millionths of a watt
 * /sys/class/drm/card0/device/hwmon/hwmon3/power1_cap        203000000 */
#include "base/clock.h"
#include "base/memory.h"
#include "source/gpu/drm.h"
#include "source/gpu/vendor.h"

#include <fcntl.h>
#include <stdio.h>

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
    struct kfd_node *nodes; /* owned; the GPUs that the compute driver has */
    size_t node_count;
    struct gpu_pids pids;
};

/* ---- Processes that compute ------------------------------------------------------------------ */

/* Processes that compute by ROCm. Their queues are not in fdinfo; the compute driver (KFD) has
 * files of its own:
 *
 * /sys/class/kfd/kfd/topology/nodes/1/gpu_id        53458, or 0 for a processor
 * /sys/class/kfd/kfd/topology/nodes/1/properties    simd_count 256
 *                                                   simd_per_cu 4
 *                                                   location_id 768
 *                                                   domain 0
 * /sys/class/kfd/kfd/proc/4711/vram_53458                       bytes
 * /sys/class/kfd/kfd/proc/4711/stats_53458/cu_occupancy         compute units
 *
 * sdma_53458, the time of the engines that copy, is not read: without the time of those that
 * compute, which the driver does not count, it would pass for all of it. */

#define KFD_NODES "class/kfd/kfd/topology/nodes"
#define KFD_PROC  "class/kfd/kfd/proc"

struct kfd_node {
    uint64_t gpu_id;
    uint64_t compute_units; /* 0 when it is not known */
    char pci[24];           /* 0000:03:00.0 */
};

static bool kfd_read_number(const struct sysroot *root, const char *folder, const char *name,
                            uint64_t *ret)
{
    struct number_file f;
    int64_t value;
    if (number_file_init(&f, folder, name) < 0)
        return false;
    int r = number_file_read(&f, root, &value);
    number_file_done(&f);
    if (r < 0 || value < 0)
        return false;
    *ret = (uint64_t)value;
    return true;
}

/* Adds the node when it is a GPU. Without memory for it the processes on it are not known. */
static void kfd_visit_node(void *arg, const char *name)
{
    static const char *const keys[] = {"location_id", "domain", "simd_count", "simd_per_cu"};
    enum { LOCATION, DOMAIN, SIMD_COUNT, SIMD_PER_CU };
    struct amdgpu *a = arg;
    const struct sysroot *root = a->drm.root;
    uint64_t values[ARRAY_LEN(keys)] = {0};
    struct kfd_node n = {0};
    char folder[96], path[128], text[4096];
    snprintf(folder, sizeof folder, KFD_NODES "/%.32s", name);
    snprintf(path, sizeof path, "%s/properties", folder);
    if (!kfd_read_number(root, folder, "gpu_id", &n.gpu_id) || !n.gpu_id)
        return;
    ssize_t length = file_read_at(root->sys, path, text, sizeof text);
    int found = parse_cgroup_flat(scan_text(text, length > 0 ? (size_t)length : 0), keys,
                                  ARRAY_LEN(keys), values);
    if (found < 0 || !(found & 1 << LOCATION) || !ARRAY_GROW(a->nodes, a->node_count))
        return;
    unsigned location = (unsigned)values[LOCATION]; /* bus, device and function in one number */
    snprintf(n.pci, sizeof n.pci, "%04x:%02x:%02x.%x", (unsigned)values[DOMAIN] & 0xffff,
             location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
    if (values[SIMD_PER_CU])
        n.compute_units = values[SIMD_COUNT] / values[SIMD_PER_CU];
    a->nodes[a->node_count++] = n;
}

struct kfd_look {
    struct amdgpu *amdgpu;
    struct gpu_frame *frame;
    unsigned first; /* the index of the first card in the frame */
};

/* A process that computes has the card open as well, and newer kernels count the same memory in
 * both places: the larger figure has all of it. The time of its queues is not counted; fdinfo would
 * show 0. Several processes whose pid is not known are added up. */
static void kfd_visit_process(void *arg, const char *name)
{
    const struct kfd_look *look = arg;
    struct amdgpu *a = look->amdgpu;
    struct scan s = scan_string(name);
    uint64_t driver_pid;
    if (!scan_u64(&s, &driver_pid) || !scan_done(&s) || driver_pid > INT32_MAX)
        return;
    char folder[64], file[64];
    snprintf(folder, sizeof folder, KFD_PROC "/%d", (int)driver_pid);
    for (size_t i = 0; i < a->node_count; i++) {
        const struct kfd_node *n = &a->nodes[i];
        uint64_t bytes = 0, units = 0;
        snprintf(file, sizeof file, "vram_%llu", (unsigned long long)n->gpu_id);
        bool has_memory = kfd_read_number(a->drm.root, folder, file, &bytes);
        snprintf(file, sizeof file, "stats_%llu/cu_occupancy", (unsigned long long)n->gpu_id);
        bool has_units = kfd_read_number(a->drm.root, folder, file, &units);
        /* Every process has files for every GPU: one with nothing there does not use it. */
        const struct drm_card *card = drm_cards_at(&a->drm.cards, n->pci);
        if ((!bytes && !units) || !card)
            continue;
        pid_t pid = gpu_pids_map(&a->pids, (unsigned)driver_pid);
        unsigned device = look->first + (unsigned)(card - a->drm.cards.items);
        struct gpu_process *p = gpu_frame_process(look->frame, device, pid);
        if (!p)
            continue;
        if (has_memory)
            p->memory_bytes = pid == GPU_UNKNOWN_PID ? p->memory_bytes + bytes
                                                     : max_u64(p->memory_bytes, bytes);
        p->has_memory |= has_memory;
        double before = pid == GPU_UNKNOWN_PID && p->has_share ? p->share : 0;
        p->has_share = has_units && n->compute_units;
        if (p->has_share) {
            double share = before + (double)units / (double)n->compute_units;
            p->share = share < 1 ? share : 1;
        }
        p->has_busy = false;
        p->is_uncounted = true;
    }
}

/* ---- Vendor ---------------------------------------------------------------------------------- */

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
    CLEANUP_CLOSE int dir = openat(c->root->sys, KFD_NODES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, kfd_visit_node, a);
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
    free(a->nodes);
    gpu_pids_done(&a->pids);
    free(a);
}

static void amdgpu_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                        struct gpu_trouble *trouble)
{
    struct amdgpu *a = state;
    uint64_t now_ns = clock_mono(NULL);
    unsigned first = drm_vendor_read(&a->drm, f, pids, pid_count, now_ns, trouble);
    gpu_pids_begin(&a->pids, pids, pid_count, now_ns);
    if (!a->node_count)
        return;
    CLEANUP_CLOSE int dir = openat(a->drm.root->sys, KFD_PROC, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, kfd_visit_process, &(struct kfd_look){a, f, first});
}

const struct gpu_vendor gpu_vendor_amdgpu = {
    .name = "amd",
    .people = "AMD",
    .lost = "removed or fallen off the bus",
    .means = "amdgpu",
    .is_likely = amdgpu_is_likely,
    .open = amdgpu_open,
    .read = amdgpu_read,
    .close = amdgpu_close,
};
