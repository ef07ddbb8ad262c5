/* SPDX-License-Identifier: MIT
 *
 * An entry of a list begins with the pid and, at byte 8, the memory; how long it is depends on the
 * driver and not on the suffix of the function: 16 bytes (no suffix), 24 (_v2, and _v3 of most
 * drivers), 32 (_v3 of 535.43 to 535.86). So it is measured: a buffer is filled with a pattern, and
 * how much of it was overwritten is divided by the number of entries. A driver may leave the end of
 * the last entry alone: the longest list seen so far is the one that tells. */
#include "collect/nvml_processes.h"

#include <string.h>

enum { PATTERN = 0xAA, LARGEST_ENTRY = 32, SPARE_ENTRIES = 16, TRIES = 4 };

#define SHARE_HOLDS_NS NS_PER_SECOND
#define SHARE_HOLDS_US 1000000ULL

void nvml_processes_done(struct nvml_processes *p)
{
    free(p->infos);
    free(p->samples);
    *p = (struct nvml_processes){0};
}

void nvml_shares_done(struct nvml_shares *s)
{
    free(s->items);
    *s = (struct nvml_shares){0};
}

/* ---- Memory ---------------------------------------------------------------------------------- */

size_t nvml_processes_stride(size_t length, unsigned count)
{
    if (!count)
        return 0;
    size_t each = (length + count - 1) / count;
    size_t stride = (each + 7) / 8 * 8;
    return stride == 16 || stride == 24 || stride == 32 ? stride : 0;
}

static size_t written_length(const unsigned char *bytes, size_t size)
{
    while (size && bytes[size - 1] == PATTERN)
        size--;
    return size;
}

static bool make_room(struct nvml_processes *p, size_t entries)
{
    if (entries <= p->info_room)
        return true;
    unsigned char *infos = reallocarray(p->infos, entries, LARGEST_ENTRY);
    if (!infos)
        return false;
    p->infos = infos;
    p->info_room = entries;
    return true;
}

/* The list into p->infos, by the newest function that the driver really has. */
static int call_list(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                     struct nvml_list_ways *ways, unsigned list, unsigned *ret_count)
{
    int r = NVML_NO_FUNCTION;
    for (unsigned try = 0; try < TRIES + NVML_LIST_VERSIONS; try++) {
        if (ways->version == NVML_LIST_VERSIONS || !make_room(p, SPARE_ENTRIES))
            return NVML_NO_FUNCTION;
        nvml_list *function = api->lists[list][ways->version];
        unsigned count = (unsigned)p->info_room;
        memset(p->infos, PATTERN, p->info_room * LARGEST_ENTRY);
        r = function ? function(handle, &count, p->infos) : NVML_NO_FUNCTION;
        if (r == NVML_TOO_SMALL && make_room(p, (size_t)count + SPARE_ENTRIES))
            continue;
        if (r == NVML_NO_FUNCTION || r == NVML_OTHER_VERSION) {
            *ways = (struct nvml_list_ways){.version = ways->version + 1};
            continue;
        }
        *ret_count = (unsigned)min_u64(count, p->info_room);
        return r;
    }
    return r;
}

static bool know_stride(const struct nvml_processes *p, struct nvml_list_ways *ways, unsigned count)
{
    if (count > ways->seen_in) {
        size_t length = written_length(p->infos, p->info_room * LARGEST_ENTRY);
        ways->stride = nvml_processes_stride(length, count);
        ways->seen_in = count;
    }
    return ways->stride || !count;
}

static void add_process(const unsigned char *entry, struct gpu_pids *pids, struct gpu_frame *f,
                        unsigned device)
{
    unsigned pid;
    uint64_t used;
    memcpy(&pid, entry, sizeof pid);
    memcpy(&used, entry + 8, sizeof used);
    struct gpu_process *process = gpu_frame_process(f, device, gpu_pids_map(pids, pid));
    if (!process || used == UINT64_MAX)
        return;
    /* It may stand in several lists, with the same memory. */
    process->memory_bytes = process->has_memory ? max_u64(process->memory_bytes, used) : used;
    process->has_memory = true;
}

/* A process that uses the GPU and stands in two lists counts once. */
static size_t count_new(const unsigned char *infos, size_t stride, unsigned count, struct map *seen)
{
    uint32_t before = seen->count;
    for (unsigned i = 0; i < count; i++) {
        unsigned pid;
        memcpy(&pid, infos + i * stride, sizeof pid);
        if (pid)
            map_put(seen, pid, 1);
    }
    return seen->count - before;
}

static int read_lists(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                      struct nvml_list_ways ways[NVML_LISTS], struct gpu_pids *pids,
                      struct gpu_frame *f, unsigned device)
{
    struct map seen = {0};
    size_t total = 0;
    bool known = false;
    int result = NVML_OK;
    for (unsigned list = 0; list < NVML_LISTS && result != NVML_LOST; list++) {
        unsigned count = 0;
        int r = call_list(p, api, handle, &ways[list], list, &count);
        if (r == NVML_LOST || list == NVML_COMPUTE)
            result = r;
        if (r != NVML_OK || !know_stride(p, &ways[list], count))
            continue;
        known |= list == NVML_COMPUTE;
        size_t stride = ways[list].stride;
        total += count_new(p->infos, stride, count, &seen);
        for (unsigned i = 0; i < count; i++)
            add_process(p->infos + i * stride, pids, f, device);
    }
    map_done(&seen);
    if (!known || result != NVML_OK)
        return result;
    f->devices[device].tells |= GPU_TELLS_MEMORY;
    if (!total && gpu_pids_hide_users(pids))
        gpu_frame_process(f, device, GPU_UNKNOWN_PID);
    else
        row_put_u64(&f->devices[device].row, gpu_processes_count, total);
    return result;
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static struct nvml_share *share_of(struct nvml_shares *s, unsigned pid)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].pid == pid)
            return &s->items[i];
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 16;
        struct nvml_share *items = reallocarray(s->items, capacity, sizeof *items);
        if (!items)
            return NULL;
        s->items = items;
        s->capacity = capacity;
    }
    struct nvml_share *share = &s->items[s->count++];
    *share = (struct nvml_share){.pid = pid};
    return share;
}

/* A driver keeps the samples of some seconds; of each process the newest is meant, unless it is old
 * itself. */
static void take_samples(struct nvml_shares *s, const struct nvml_process_sample *samples,
                         unsigned count, uint64_t now_ns)
{
    for (unsigned i = 0; i < count; i++)
        if (samples[i].time_us > s->since_us)
            s->since_us = samples[i].time_us;
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].sm > 100 || samples[i].time_us + SHARE_HOLDS_US < s->since_us)
            continue;
        struct nvml_share *share = share_of(s, samples[i].pid);
        if (!share || share->time_us > samples[i].time_us)
            continue;
        share->time_us = samples[i].time_us;
        share->told_ns = now_ns;
        share->share = samples[i].sm / 100.0;
    }
}

static void forget_old(struct nvml_shares *s, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (now_ns - s->items[i].told_ns <= SHARE_HOLDS_NS)
            s->items[kept++] = s->items[i];
    s->count = kept;
}

static int call_samples(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                        unsigned long long since_us, unsigned *ret_count)
{
    int r = NVML_TOO_SMALL;
    for (unsigned try = 0; try < TRIES && r == NVML_TOO_SMALL; try++) {
        unsigned count = p->sample_room;
        r = api->samples(handle, p->samples, &count, since_us);
        if (r == NVML_TOO_SMALL || (r == NVML_OK && count > p->sample_room)) {
            unsigned room = count + SPARE_ENTRIES;
            struct nvml_process_sample *more = reallocarray(p->samples, room, sizeof *more);
            if (!more)
                return NVML_NOT_SUPPORTED;
            p->samples = more;
            p->sample_room = room;
            r = NVML_TOO_SMALL;
        }
        *ret_count = count;
    }
    return r;
}

/* What a driver says at first is what it remembers, of any time before. */
static void pass_over(struct nvml_shares *s, const struct nvml_process_sample *samples,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (samples[i].time_us > s->since_us)
            s->since_us = samples[i].time_us;
    s->has_history = count > 0;
}

/* Not yet, as long as there is history alone: the driver is still to say what is now. */
static bool are_known(const struct nvml_shares *s, uint64_t now_ns)
{
    return !s->has_history || now_ns - s->asked_ns > SHARE_HOLDS_NS;
}

static int read_shares(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                       struct nvml_shares *s, uint64_t now_ns)
{
    unsigned count = 0;
    int r = api->samples ? call_samples(p, api, handle, s->since_us, &count) : NVML_NO_FUNCTION;
    if (r == NVML_OK && !s->asked_ns) {
        pass_over(s, p->samples, count);
    } else if (r == NVML_OK) {
        s->has_history = false;
        take_samples(s, p->samples, count, now_ns);
    }
    if (r == NVML_OK || r == NVML_NOT_FOUND)
        s->asked_ns = s->asked_ns ? s->asked_ns : now_ns;
    forget_old(s, now_ns);
    return r == NVML_NOT_FOUND ? NVML_OK : r; /* nothing new */
}

/* Whoever is on the device and was not told of had no work for it; whoever was told of and is not
 * in the lists has left it since. */
static void put_shares(const struct nvml_shares *s, struct gpu_pids *pids, struct gpu_frame *f,
                       unsigned device, bool is_listed)
{
    for (size_t i = 0; i < f->process_count; i++)
        f->processes[i].has_share |= f->processes[i].device == device;
    for (size_t i = 0; i < s->count; i++) {
        size_t before = f->process_count;
        struct gpu_process *process = gpu_frame_process(f, device,
                                                        gpu_pids_map(pids, s->items[i].pid));
        if (is_listed)
            f->process_count = before;
        if (!process)
            continue;
        process->has_share = true;
        process->share += s->items[i].share;
    }
}

int nvml_processes_read(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                        struct nvml_shares *shares, struct gpu_pids *pids, struct gpu_frame *f,
                        unsigned device, uint64_t now_ns)
{
    int listed = read_lists(p, api, handle, shares->ways, pids, f, device);
    if (listed == NVML_LOST)
        return listed;
    int r = read_shares(p, api, handle, shares, now_ns);
    bool is_listed = f->devices[device].tells & GPU_TELLS_MEMORY;
    bool is_known = are_known(shares, now_ns);
    if (r == NVML_OK && (is_known || is_listed)) /* a process that is not listed has no share */
        f->devices[device].tells |= GPU_TELLS_SHARE;
    if (r == NVML_OK && is_known)
        put_shares(shares, pids, f, device, is_listed);
    return r == NVML_LOST || listed == NVML_OK ? r : listed;
}
