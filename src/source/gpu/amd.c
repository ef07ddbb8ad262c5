/* SPDX-License-Identifier: MIT
 * GPUs of AMD, by the files of their driver: no library is needed.
 *
 * /sys/class/drm/card0/device/gpu_busy_percent       37
 * /sys/class/drm/card0/device/mem_busy_percent       4
 * /sys/class/drm/card0/device/mem_info_vram_used     1811939328
 * /sys/class/drm/card0/device/unique_id              7f9c3a5d1e2b4c68
 * /sys/class/drm/card0/device/hwmon/hwmon3/power1_average    68000000, in millionths of a watt
 * /sys/class/drm/card0/device/hwmon/hwmon3/power1_cap        203000000 */
#include "source/gpu/amd.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/gpu/drm.h"
#include "source/gpu/pids.h"
#include "source/gpu/vendor.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <stdio.h>

/* ==== Amd kfd ================================================================================= */

/* /sys/class/kfd/kfd/topology/nodes/1/gpu_id        53458, or 0 for a processor
 * /sys/class/kfd/kfd/topology/nodes/1/properties    simd_count 256
 *                                                   simd_per_cu 4
 *                                                   location_id 768
 *                                                   domain 0
 * /sys/class/kfd/kfd/proc/4711/vram_53458                       bytes
 * /sys/class/kfd/kfd/proc/4711/stats_53458/cu_occupancy         compute units
 *
 * sdma_53458, the time of the engines that copy, is left alone: beside the time of those that
 * compute, which nobody tells, it would pass for all of it. */

#define NODES "class/kfd/kfd/topology/nodes"
#define PROC  "class/kfd/kfd/proc"

struct search {
    struct amd_kfd *kfd;
    const struct sysroot *root;
    bool failed;
};

static bool read_number(const struct sysroot *root, const char *folder, const char *name,
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

/* Bus, device and function are packed into one number. */
static bool read_properties(struct amd_kfd_node *n, const struct sysroot *root, const char *folder)
{
    static const char *const keys[] = {"location_id", "domain", "simd_count", "simd_per_cu"};
    enum { LOCATION, DOMAIN, SIMD_COUNT, SIMD_PER_CU };
    uint64_t values[ARRAY_LEN(keys)] = {0};
    char path[128], text[4096];
    snprintf(path, sizeof path, "%s/properties", folder);
    ssize_t length = file_read_at(root->sys, path, text, sizeof text);
    struct scan s = scan_text(text, length > 0 ? (size_t)length : 0);
    int found = parse_cgroup_flat(s, keys, ARRAY_LEN(keys), values);
    if (found < 0 || !(found & 1 << LOCATION))
        return false;
    unsigned location = (unsigned)values[LOCATION];
    snprintf(n->pci, sizeof n->pci, "%04x:%02x:%02x.%x", (unsigned)values[DOMAIN] & 0xffff,
             location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
    if (values[SIMD_PER_CU])
        n->compute_units = values[SIMD_COUNT] / values[SIMD_PER_CU];
    return true;
}

static void visit_node(void *arg, const char *name)
{
    struct search *s = arg;
    struct amd_kfd_node n = {0};
    char folder[96];
    snprintf(folder, sizeof folder, NODES "/%.32s", name);
    if (!read_number(s->root, folder, "gpu_id", &n.gpu_id) || !n.gpu_id ||
        !read_properties(&n, s->root, folder))
        return;
    if (ARRAY_GROW(s->kfd->nodes, s->kfd->count))
        s->kfd->nodes[s->kfd->count++] = n;
    else
        s->failed = true;
}

int amd_kfd_open(struct amd_kfd *ret, const struct sysroot *root)
{
    struct amd_kfd k = {0};
    struct search s = {&k, root, false};
    CLEANUP_CLOSE int dir = root->sys < 0
                                ? -1
                                : openat(root->sys, NODES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        s.failed |= file_each_entry_sorted(dir, visit_node, &s) == -ENOMEM;
    if (s.failed || !k.count) {
        amd_kfd_close(&k);
        return s.failed ? -ENOMEM : -ENODEV;
    }
    *ret = k;
    return 0;
}

void amd_kfd_close(struct amd_kfd *k)
{
    free(k->nodes);
    *k = (struct amd_kfd){0};
}

struct reading {
    const struct amd_kfd *kfd;
    const struct sysroot *root;
    void (*visit)(void *arg, const struct amd_kfd_use *use);
    void *arg;
};

static void visit_process(void *arg, const char *name)
{
    const struct reading *r = arg;
    struct scan s = scan_string(name);
    uint64_t pid;
    if (!scan_u64(&s, &pid) || !scan_done(&s) || pid > INT32_MAX)
        return;
    char folder[64], file[64];
    snprintf(folder, sizeof folder, PROC "/%d", (int)pid);
    for (size_t i = 0; i < r->kfd->count; i++) {
        const struct amd_kfd_node *n = &r->kfd->nodes[i];
        struct amd_kfd_use use = {.node = n, .pid = (unsigned)pid};
        snprintf(file, sizeof file, "vram_%llu", (unsigned long long)n->gpu_id);
        use.has_memory = read_number(r->root, folder, file, &use.memory_bytes);
        snprintf(file, sizeof file, "stats_%llu/cu_occupancy", (unsigned long long)n->gpu_id);
        use.has_units = read_number(r->root, folder, file, &use.units);
        /* Every process has files for every GPU: one with nothing there does not use it. */
        if (use.memory_bytes || use.units)
            r->visit(r->arg, &use);
    }
}

void amd_kfd_read(const struct amd_kfd *k, const struct sysroot *root,
                  void (*visit)(void *arg, const struct amd_kfd_use *use), void *arg)
{
    struct reading r = {k, root, visit, arg};
    CLEANUP_CLOSE int dir = openat(root->sys, PROC, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, visit_process, &r);
}

/* ==== Amdgpu ================================================================================== */

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
