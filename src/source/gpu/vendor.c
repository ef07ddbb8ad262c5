/* SPDX-License-Identifier: MIT */
#include "source/gpu/vendor.h"

#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/pid_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_vendor_nvml,
    &gpu_vendor_amdgpu,
    &gpu_vendor_intel,
    NULL,
};

bool gpu_traces_are_here(void)
{
    static const char *const traces[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl",
                                         "/sys/class/drm"};
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(traces) && !any; i++)
        any = access(traces[i], F_OK) == 0;
    return any;
}

bool gpu_vendors_are_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root)
{
    for (; *vendors; vendors++)
        if ((*vendors)->is_likely(root))
            return true;
    return false;
}

void gpu_facts_name(const struct gpu_facts *f, char *ret, size_t size)
{
    snprintf(ret, size, "%s%u%s%s", f->vendor, f->index, *f->instance ? ":" : "", f->instance);
}

/* ---- Frame ----------------------------------------------------------------------------------- */

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
    f->energy_only = false;
}

void gpu_frame_done(struct gpu_frame *f)
{
    free(f->devices);
    free(f->processes);
    *f = (struct gpu_frame){0};
}

/* ==== Pids ==================================================================================== */

enum { NAMESPACES = 8 };

#define KNOWN_FOR_NS NS_PER_SECOND

/* The first pid namespace of a machine has this number in every kernel. */
#define FIRST_NAMESPACE "pid:[4026531836]"

void gpu_pids_init(struct gpu_pids *p, const struct sysroot *root)
{
    char link[64] = "";
    *p = (struct gpu_pids){.root = root};
    pthread_mutex_init(&p->lock, NULL);
    ssize_t n = readlinkat(root->proc, "self/ns/pid", link, sizeof link - 1);
    p->is_nested = n > 0 && strcmp(link, FIRST_NAMESPACE) != 0;
}

void gpu_pids_done(struct gpu_pids *p)
{
    map_done(&p->called);
    map_done(&p->opened);
    if (p->root)
        pthread_mutex_destroy(&p->lock);
}

/* A pid that was not found may be that of a process that has come since. */
void gpu_pids_begin(struct gpu_pids *p, const pid_t *interest, size_t count, uint64_t now_ns)
{
    uint64_t signature = count;
    for (size_t i = 0; i < count; i++)
        signature = signature * UINT64_C(6364136223846793005) + (uint64_t)interest[i];
    p->interest = interest;
    p->interest_count = count;
    if (now_ns - p->renewed_ns < KNOWN_FOR_NS && signature == p->signature)
        return;
    map_clear(&p->called);
    map_clear(&p->opened);
    p->is_called_read = p->is_opener_known = p->has_opener = false;
    p->signature = signature;
    p->renewed_ns = now_ns;
}

/* The pids that it has in the namespaces below ours, and its own beside them. */
static void gpu_pids_read_called(struct gpu_pids *p, pid_t pid)
{
    char path[64], text[4096];
    pid_t pids[NAMESPACES];
    snprintf(path, sizeof path, "%d/status", (int)pid);
    ssize_t n = file_read_at(p->root->pids, path, text, sizeof text);
    int count = n > 0 ? parse_pid_namespaces(scan_text(text, (size_t)n), pids, NAMESPACES) : 0;
    for (int i = 0; i < count && count > 1; i++) {
        uint32_t other;
        bool is_taken = map_get(&p->called, (uint32_t)pids[i], &other) && other != (uint32_t)pid;
        map_put(&p->called, (uint32_t)pids[i], is_taken ? GPU_UNKNOWN_PID : (uint32_t)pid);
    }
}

struct gpu_pids_search {
    int files;
    bool found;
};

static void gpu_pids_visit_file(void *arg, const char *name)
{
    struct gpu_pids_search *s = arg;
    static const char *const devices[] = {"/dev/nvidia", "/dev/kfd"};
    char link[64] = "";
    if (s->found || readlinkat(s->files, name, link, sizeof link - 1) <= 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        s->found |= strncmp(link, devices[i], strlen(devices[i])) == 0;
}

static bool gpu_pids_has_device(const struct gpu_pids *p, unsigned pid)
{
    char path[64];
    snprintf(path, sizeof path, "%u/fd", pid);
    CLEANUP_CLOSE int files = openat(p->root->pids, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct gpu_pids_search s = {.files = files};
    if (files >= 0)
        file_each_entry(files, gpu_pids_visit_file, &s);
    return s.found;
}

static pid_t gpu_pids_find_opener(struct gpu_pids *p, unsigned driver_pid)
{
    uint32_t known;
    if (map_get(&p->opened, driver_pid, &known))
        return (pid_t)known;
    pid_t found = gpu_pids_has_device(p, driver_pid) ? (pid_t)driver_pid : GPU_UNKNOWN_PID;
    map_put(&p->opened, driver_pid, (uint32_t)found);
    return found;
}

bool gpu_pids_hide_users(struct gpu_pids *p)
{
    if (!p->is_nested)
        return false;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->interest_count && !p->is_opener_known; i++)
        p->has_opener |= gpu_pids_find_opener(p, (unsigned)p->interest[i]) != GPU_UNKNOWN_PID;
    p->is_opener_known = true;
    bool has_opener = p->has_opener;
    pthread_mutex_unlock(&p->lock);
    return has_opener;
}

static pid_t gpu_pids_map_nested(struct gpu_pids *p, unsigned driver_pid)
{
    uint32_t called;
    for (size_t i = 0; i < p->interest_count && !p->is_called_read; i++)
        gpu_pids_read_called(p, p->interest[i]);
    p->is_called_read = true;
    if (map_get(&p->called, driver_pid, &called))
        return (pid_t)called;
    return gpu_pids_find_opener(p, driver_pid);
}

pid_t gpu_pids_map(struct gpu_pids *p, unsigned driver_pid)
{
    if (!driver_pid || driver_pid > INT32_MAX)
        return GPU_UNKNOWN_PID;
    if (!p->is_nested)
        return (pid_t)driver_pid;
    pthread_mutex_lock(&p->lock);
    pid_t pid = gpu_pids_map_nested(p, driver_pid);
    pthread_mutex_unlock(&p->lock);
    return pid;
}
