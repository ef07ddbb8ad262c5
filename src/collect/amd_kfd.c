/* SPDX-License-Identifier: MIT
 *
 * /sys/class/kfd/kfd/topology/nodes/1/gpu_id        53458, or 0 for a processor
 * /sys/class/kfd/kfd/topology/nodes/1/properties    simd_count 256
 *                                                   simd_per_cu 4
 *                                                   location_id 768
 *                                                   domain 0
 * /sys/class/kfd/kfd/proc/4711/vram_53458                       bytes
 * /sys/class/kfd/kfd/proc/4711/stats_53458/cu_occupancy         compute units
 *
 * sdma_53458, the time of the engines that copy, is left alone: beside the time of those that
 * compute, which nobody tells, it would pass for all of it. */
#include "collect/amd_kfd.h"

#include "base/file.h"
#include "base/util.h"
#include "collect/number_file.h"
#include "parse/cgroup_flat.h"

#include <fcntl.h>
#include <stdio.h>

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
    struct amd_kfd_node *nodes = reallocarray(s->kfd->nodes, s->kfd->count + 1, sizeof *nodes);
    s->failed |= !nodes;
    if (!nodes)
        return;
    s->kfd->nodes = nodes;
    nodes[s->kfd->count++] = n;
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
