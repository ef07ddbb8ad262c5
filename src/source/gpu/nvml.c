/* SPDX-License-Identifier: MIT
 * NVIDIA's GPUs, through the library that comes with the driver. Tests have a library of their own
 * that does what the published interface says; no real driver was at hand. */
#include "source/gpu/nvml.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/thread.h"
#include "source/gpu/vendor.h"

#include <stdio.h>
#include <string.h>

/* ==== Nvml processes ========================================================================== */

/* An entry of a list begins with the pid and, at byte 8, the memory; its length depends on the
 * driver and not on the suffix of the function: 16 bytes (no suffix), 24 (_v2, and _v3 of most
 * drivers), 32 (_v3 of 535.43 to 535.86). So it is measured: a buffer is filled with a pattern, and
 * the number of bytes that were overwritten is divided by the number of entries. A driver may leave
 * the end of the last entry unwritten, so the longest list seen so far decides. */

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

static bool nvml_processes_make_room(struct nvml_processes *p, size_t entries)
{
    return array_reserve(&p->infos, &p->info_room, entries, LARGEST_ENTRY);
}

/* Reads a list into p->infos, by the newest function that the driver really has. */
static int nvml_list_call(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                          struct nvml_list_ways *ways, unsigned list, unsigned *ret_count)
{
    int r = NVML_NO_FUNCTION;
    for (unsigned try = 0; try < TRIES + NVML_LIST_VERSIONS; try++) {
        if (ways->version == NVML_LIST_VERSIONS || !nvml_processes_make_room(p, SPARE_ENTRIES))
            return NVML_NO_FUNCTION;
        nvml_list *function = api->lists[list][ways->version];
        unsigned count = (unsigned)p->info_room;
        memset(p->infos, PATTERN, p->info_room * LARGEST_ENTRY);
        r = function ? function(handle, &count, p->infos) : NVML_NO_FUNCTION;
        if (r == NVML_TOO_SMALL && nvml_processes_make_room(p, (size_t)count + SPARE_ENTRIES))
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

/* Whether the length of an entry is known. */
static bool nvml_list_measure(const struct nvml_processes *p, struct nvml_list_ways *ways,
                              unsigned count)
{
    if (count > ways->seen_in) {
        size_t length = p->info_room * LARGEST_ENTRY;
        while (length && p->infos[length - 1] == PATTERN)
            length--;
        ways->stride = nvml_processes_stride(length, count);
        ways->seen_in = count;
    }
    return ways->stride || !count;
}

static void nvml_processes_add_process(const unsigned char *entry, struct gpu_pids *pids,
                                       struct gpu_frame *f, unsigned device)
{
    unsigned pid;
    uint64_t used;
    memcpy(&pid, entry, sizeof pid);
    memcpy(&used, entry + 8, sizeof used);
    struct gpu_process *process = gpu_frame_process(f, device, gpu_pids_map(pids, pid));
    if (!process || used == UINT64_MAX)
        return;
    /* It may be in several lists, with the same memory. */
    process->memory_bytes = process->has_memory ? max_u64(process->memory_bytes, used) : used;
    process->has_memory = true;
}

/* The number of processes that were in no list before. */
static size_t nvml_list_count_new(const unsigned char *infos, size_t stride, unsigned count,
                                  struct map *seen)
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

static int nvml_read_lists(struct nvml_processes *p, const struct nvml_api *api,
                           nvml_handle *handle, struct nvml_list_ways ways[NVML_LISTS],
                           struct gpu_pids *pids, struct gpu_frame *f, unsigned device)
{
    struct map seen = {0};
    size_t total = 0;
    bool known = false;
    int result = NVML_OK;
    for (unsigned list = 0; list < NVML_LISTS && result != NVML_LOST; list++) {
        unsigned count = 0;
        int r = nvml_list_call(p, api, handle, &ways[list], list, &count);
        if (r == NVML_LOST || list == NVML_COMPUTE)
            result = r;
        if (r != NVML_OK || !nvml_list_measure(p, &ways[list], count))
            continue;
        known |= list == NVML_COMPUTE;
        size_t stride = ways[list].stride;
        total += nvml_list_count_new(p->infos, stride, count, &seen);
        for (unsigned i = 0; i < count; i++)
            nvml_processes_add_process(p->infos + i * stride, pids, f, device);
    }
    map_done(&seen);
    if (!known || result != NVML_OK)
        return result;
    f->devices[device].lists |= GPU_LISTS_MEMORY;
    if (!total && gpu_pids_hide_users(pids))
        gpu_frame_process(f, device, GPU_UNKNOWN_PID);
    else
        row_put_u64(&f->devices[device].row, gpu_processes_count, total);
    return result;
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static struct nvml_share *nvml_share_find(struct nvml_shares *s, unsigned pid)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].pid == pid)
            return &s->items[i];
    if (!ARRAY_RESERVE(s->items, s->capacity, s->count + 1))
        return NULL;
    struct nvml_share *share = &s->items[s->count++];
    *share = (struct nvml_share){.pid = pid};
    return share;
}

static int nvml_call_samples(struct nvml_processes *p, const struct nvml_api *api,
                             nvml_handle *handle, unsigned long long since_us, unsigned *ret_count)
{
    int r = NVML_TOO_SMALL;
    for (unsigned try = 0; try < TRIES && r == NVML_TOO_SMALL; try++) {
        unsigned count = (unsigned)p->sample_room;
        r = api->samples(handle, p->samples, &count, since_us);
        if (r == NVML_TOO_SMALL || (r == NVML_OK && count > p->sample_room)) {
            if (!ARRAY_RESERVE(p->samples, p->sample_room, count + SPARE_ENTRIES))
                return NVML_NOT_SUPPORTED;
            r = NVML_TOO_SMALL;
        }
        *ret_count = count;
    }
    return r;
}

/* A driver keeps the samples of some seconds. Of each process the newest counts, unless it is old
 * itself. What a driver reports at first may be of any time before: it only moves since_us. */
static int nvml_read_shares(struct nvml_processes *p, const struct nvml_api *api,
                            nvml_handle *handle, struct nvml_shares *s, uint64_t now_ns)
{
    unsigned count = 0;
    bool is_first = !s->asked_ns;
    int r = api->samples ? nvml_call_samples(p, api, handle, s->since_us, &count)
                         : NVML_NO_FUNCTION;
    if (r != NVML_OK)
        count = 0;
    for (unsigned i = 0; i < count; i++)
        s->since_us = max_u64(s->since_us, p->samples[i].time_us);
    for (unsigned i = 0; i < count && !is_first; i++) {
        const struct nvml_process_sample *sample = &p->samples[i];
        if (sample->sm > 100 || sample->time_us + SHARE_HOLDS_US < s->since_us)
            continue;
        struct nvml_share *share = nvml_share_find(s, sample->pid);
        if (!share || share->time_us > sample->time_us)
            continue;
        share->time_us = sample->time_us;
        share->listed_ns = now_ns;
        share->share = sample->sm / 100.0;
    }
    if (r == NVML_OK)
        s->has_history = is_first && count;
    if (is_first && (r == NVML_OK || r == NVML_NOT_FOUND))
        s->asked_ns = now_ns;
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (now_ns - s->items[i].listed_ns <= SHARE_HOLDS_NS)
            s->items[kept++] = s->items[i];
    s->count = kept;
    return r == NVML_NOT_FOUND ? NVML_OK : r; /* nothing new */
}

/* A process on the device without a sample had no work for it; one with a sample that is not in the
 * lists has left since. */
static void nvml_put_shares(const struct nvml_shares *s, struct gpu_pids *pids, struct gpu_frame *f,
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
    int listed = nvml_read_lists(p, api, handle, shares->ways, pids, f, device);
    if (listed == NVML_LOST)
        return listed;
    int r = nvml_read_shares(p, api, handle, shares, now_ns);
    bool is_listed = f->devices[device].lists & GPU_LISTS_MEMORY;
    /* With history alone the driver has yet to say what is now. */
    bool is_known = !shares->has_history || now_ns - shares->asked_ns > SHARE_HOLDS_NS;
    if (r == NVML_OK && (is_known || is_listed)) /* a process that is not listed has no share */
        f->devices[device].lists |= GPU_LISTS_SHARE;
    if (r == NVML_OK && is_known)
        nvml_put_shares(shares, pids, f, device, is_listed);
    return r == NVML_LOST || listed == NVML_OK ? r : listed;
}

/* ==== Nvml ==================================================================================== */

enum { MOST_DEVICES = 128 };

struct nvml {
    struct nvml_api api;
    struct nvml_device *devices; /* owned */
    size_t count;
    struct gpu_pids pids;
    const struct gpu_context *context; /* borrowed */
    uint64_t now_ns;                   /* of the current look */
    int noted[8];                      /* errors that were noted before */
    unsigned noted_count;
    char driver[32];
    bool is_begun;
};

static bool nvml_is_likely(const struct sysroot *root)
{
    return faccessat(root->proc, "driver/nvidia/version", F_OK, 0) == 0 ||
           (root->root >= 0 && faccessat(root->root, "dev/nvidiactl", F_OK, 0) == 0);
}

static void nvml_close(void *state)
{
    struct nvml *n = state;
    if (!n)
        return;
    for (size_t i = 0; i < n->count; i++) {
        nvml_shares_done(&n->devices[i].shares);
        nvml_processes_done(&n->devices[i].processes);
        gpu_frame_done(&n->devices[i].part);
    }
    free(n->devices);
    gpu_pids_done(&n->pids);
    if (n->is_begun && n->api.shutdown)
        n->api.shutdown();
    free(n); /* the library stays: threads of its own, or the end of ours, may need its code */
}

/* What a user can do about a driver that does not begin. */
static const char *nvml_advice(int result)
{
    switch (result) {
    case NVML_NO_PERMISSION: return "no permission to open /dev/nvidia*";
    case NVML_NO_DRIVER: return "load the driver: modprobe nvidia";
    case NVML_MISMATCH:
        return "the driver was upgraded and the old one is still loaded: reboot, or reload the "
               "kernel modules";
    case NVML_LOST: return "a GPU has fallen off the bus: reboot";
    case NVML_NOT_READY: return "the GPUs are being reset or are starting: try again";
    default: return "see nvidia-smi";
    }
}

static int nvml_begin(struct nvml *n, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    char why[128];
    void *library = dynlib_open("libnvidia-ml.so.1", why, sizeof why);
    if (!library) {
        bool has_driver = nvml_is_likely(c->root);
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "cannot load the NVIDIA library: %s%s", why,
                 has_driver ? " (install the one that matches the driver)" : "");
        return has_driver ? -ELIBACC : -ENODEV;
    }
    int r = nvml_api_find(&n->api, library, trouble);
    if (r < 0)
        return r;
    r = n->api.init();
    if (r == NVML_OK) {
        char version[80] = "";
        n->is_begun = true;
        if (n->api.driver_version && n->api.driver_version(version, sizeof version) == NVML_OK)
            snprintf(n->driver, sizeof n->driver, "%s", version);
        return 0;
    }
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "cannot initialise the NVIDIA library (error %d, %s): %s", r,
             nvml_api_words(&n->api, r), nvml_advice(r));
    return r == NVML_NO_DRIVER ? -ENODEV : -EIO;
}

static void nvml_add_device(struct nvml *n, nvml_handle *handle, nvml_handle *parent,
                            unsigned index, unsigned instance)
{
    struct nvml_device *d = &n->devices[n->count++];
    *d = (struct nvml_device){.handle = handle, .is_instance = parent != NULL};
    nvml_device_describe(d, &n->api, parent, index, instance);
    memcpy(d->facts.driver, n->driver, sizeof d->facts.driver);
}

/* Adds the instances of a divided GPU after it. */
static void nvml_add_instances(struct nvml *n, unsigned index)
{
    struct nvml_device *whole = &n->devices[n->count - 1];
    nvml_handle *parent = whole->handle, *handle;
    unsigned current = 0, pending = 0, most = 0;
    if (!n->api.mig_mode || !n->api.mig_count || !n->api.mig_handle ||
        n->api.mig_mode(parent, &current, &pending) != NVML_OK || !current)
        return;
    whole->is_divided = true;
    if (n->api.mig_count(parent, &most) != NVML_OK)
        return;
    for (unsigned i = 0; i < most && n->count < MOST_DEVICES; i++)
        if (n->api.mig_handle(parent, i, &handle) == NVML_OK)
            nvml_add_device(n, handle, parent, index, i);
}

static int nvml_find_devices(struct nvml *n, struct gpu_trouble *trouble)
{
    unsigned count = 0;
    int r = n->api.count(&count);
    if (r != NVML_OK) {
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "the NVIDIA library cannot list GPUs (error %d, %s): %s", r,
                 nvml_api_words(&n->api, r), nvml_advice(r));
        return -EIO;
    }
    n->devices = calloc(MOST_DEVICES, sizeof *n->devices);
    if (!n->devices)
        return -ENOMEM;
    for (unsigned i = 0; i < count && n->count < MOST_DEVICES; i++) {
        nvml_handle *handle;
        r = n->api.handle(i, &handle);
        if (r == NVML_OK) {
            nvml_add_device(n, handle, NULL, i, 0);
            nvml_add_instances(n, i);
        } else if (r != NVML_NO_PERMISSION || !*trouble->sentence) {
            snprintf(trouble->sentence, sizeof trouble->sentence,
                     "NVIDIA GPU %u does not respond (error %d, %s): %s", i, r,
                     nvml_api_words(&n->api, r), nvml_advice(r));
        }
    }
    return n->count ? 0 : *trouble->sentence ? -EIO : -ENODEV;
}

static int nvml_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    struct nvml *n = calloc(1, sizeof *n);
    if (!n)
        return -ENOMEM;
    n->context = c;
    gpu_pids_init(&n->pids, c->root);
    int r = nvml_begin(n, c, trouble);
    if (r == 0)
        r = nvml_find_devices(n, trouble);
    if (r < 0) {
        nvml_close(n);
        return r;
    }
    *ret_state = n;
    return 0;
}

/* ---- A look ---------------------------------------------------------------------------------- */

/* When one device takes longer than this, each of the others is read by a thread of its own: with
 * 16 devices and a driver that takes 50 ms for each call, one after the other takes many seconds.
 */
#define SLOW_NS (10 * NS_PER_MS)

struct nvml_tour {
    struct nvml *n;
    void (*visit)(struct nvml *n, struct nvml_device *d);
    _Atomic size_t next;
};

static void *nvml_visit_rest(void *arg)
{
    struct nvml_tour *t = arg;
    for (size_t i; (i = t->next++) < t->n->count;)
        t->visit(t->n, &t->n->devices[i]);
    return NULL;
}

static void nvml_visit_all(struct nvml *n, void (*visit)(struct nvml *n, struct nvml_device *d))
{
    struct nvml_tour t = {.n = n, .visit = visit};
    pthread_t threads[MOST_DEVICES];
    size_t count = 0;
    bool is_slow = false;
    while (!is_slow && t.next < n->count) {
        uint64_t began_ns = clock_mono(NULL);
        visit(n, &n->devices[t.next++]);
        is_slow = clock_mono(NULL) - began_ns > SLOW_NS;
    }
    for (size_t left = left_u64(n->count, t.next); left > 1 && count + 1 < left; count++)
        if (thread_start(&threads[count], THREAD_STACK_BYTES, nvml_visit_rest, &t) < 0)
            break;
    nvml_visit_rest(&t);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void nvml_visit_energy(struct nvml *n, struct nvml_device *own)
{
    memset(own->results, 0, sizeof own->results);
    gpu_frame_clear(&own->part);
    struct gpu_device *d = gpu_frame_add_device(&own->part);
    if (!d)
        return;
    d->facts = own->facts;
    d->is_divided = own->is_divided;
    if (nvml_device_read_energy(own, &n->api, d) == NVML_LOST)
        nvml_device_lose(d);
}

static void nvml_visit_figures(struct nvml *n, struct nvml_device *own)
{
    struct gpu_device *d = own->part.device_count ? &own->part.devices[0] : NULL;
    if (!d || d->is_lost)
        return;
    int r = nvml_device_read(own, &n->api, d, n->context->hurry);
    /* The processes of a divided GPU are those of its instances. */
    if (r != NVML_LOST && !own->is_divided && !(n->context->hurry && *n->context->hurry))
        r = own->results[NVML_READING_PROCESSES] = nvml_processes_read(
            &own->processes, &n->api, own->handle, &own->shares, &n->pids, &own->part, 0,
            n->now_ns);
    if (r == NVML_LOST)
        nvml_device_lose(&own->part.devices[0]);
}

/* A figure that a board does not have is not a failure. Each error is noted once, one in a look. */
static void nvml_note_failure(struct nvml *n, struct gpu_trouble *trouble)
{
    for (size_t k = 0; k < n->count * NVML_READINGS; k++) {
        const struct nvml_device *d = &n->devices[k / NVML_READINGS];
        int r = d->results[k % NVML_READINGS];
        bool is_known = r == NVML_OK || r == NVML_NOT_SUPPORTED || r == NVML_NO_FUNCTION ||
                        r == NVML_OTHER_VERSION || r == NVML_LOST;
        for (unsigned i = 0; i < n->noted_count; i++)
            is_known |= n->noted[i] == r;
        if (is_known || n->noted_count == ARRAY_LEN(n->noted))
            continue;
        n->noted[n->noted_count++] = r;
        snprintf(
            trouble->sentence, sizeof trouble->sentence,
            "NVIDIA GPU %u: cannot read %s (error %d, %s); figures with this error are unknown",
            d->facts.index, nvml_device_reading(k % NVML_READINGS), r, nvml_api_words(&n->api, r));
        return;
    }
}

static void nvml_join_parts(struct nvml *n, struct gpu_frame *f)
{
    f->device_count = f->process_count = 0;
    for (size_t i = 0; i < n->count; i++)
        gpu_frame_join(f, &n->devices[i].part, (unsigned)i, 1);
}

/* Energy is read first: it counts up, and what is not read in time is lost. */
static void nvml_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                      struct gpu_trouble *trouble)
{
    struct nvml *n = state;
    n->now_ns = clock_mono(NULL);
    gpu_pids_begin(&n->pids, pids, pid_count, n->now_ns);
    nvml_visit_all(n, nvml_visit_energy);
    if (!f->energy_only) {
        if (n->context->energy_ready) {
            nvml_join_parts(n, f);
            n->context->energy_ready(n->context->arg, f);
        }
        nvml_visit_all(n, nvml_visit_figures);
    }
    nvml_join_parts(n, f);
    nvml_note_failure(n, trouble);
}

const struct gpu_vendor gpu_vendor_nvml = {
    .name = "nvidia",
    .people = "NVIDIA",
    .lost = "fallen off the bus",
    .means = "NVML",
    .is_likely = nvml_is_likely,
    .open = nvml_open,
    .read = nvml_read,
    .close = nvml_close,
    .in_helper = true,
};
