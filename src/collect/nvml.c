/* SPDX-License-Identifier: MIT
 * NVIDIA's GPUs, through the library that comes with the driver. Never run against a real one by
 * our tests: they have a library of their own that does what the published interface says. */
#include "base/clock.h"
#include "base/dynlib.h"
#include "base/worker.h"
#include "collect/gpu_vendors.h"
#include "collect/nvml_device.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 128 };

struct nvml {
    struct nvml_api api;
    struct nvml_device *devices; /* owned */
    size_t count;
    struct gpu_pids pids;
    const struct gpu_context *context; /* borrowed */
    uint64_t now_ns;                   /* of the look that goes on */
    int noted[8];                      /* errors that were noted */
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

/* What a person can do about a driver that does not begin. */
static const char *advice(int result)
{
    switch (result) {
    case NVML_NO_PERMISSION: return "the user may not open /dev/nvidia*";
    case NVML_NO_DRIVER: return "load the driver: modprobe nvidia";
    case NVML_MISMATCH:
        return "the driver was upgraded and the old one is still loaded: restart the machine, or "
               "unload and load the kernel's modules";
    case NVML_LOST: return "a GPU has fallen off the bus: restart the machine";
    case NVML_NOT_READY: return "the GPUs are being reset or start up: try again";
    default: return "nvidia-smi may tell more";
    }
}

static int begin(struct nvml *n, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    char why[128];
    void *library = dynlib_open("libnvidia-ml.so.1", why, sizeof why);
    if (!library) {
        bool has_driver = nvml_is_likely(c->root);
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "NVIDIA's library cannot be loaded: %s%s", why,
                 has_driver ? "; install the one that belongs to the driver" : "");
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
             "NVIDIA's library does not begin (error %d, %s): %s", r, nvml_api_words(&n->api, r),
             advice(r));
    return r == NVML_NO_DRIVER ? -ENODEV : -EIO;
}

static void add_device(struct nvml *n, nvml_handle *handle, nvml_handle *parent, unsigned index,
                       unsigned instance)
{
    struct nvml_device *d = &n->devices[n->count++];
    *d = (struct nvml_device){.handle = handle, .is_instance = parent != NULL};
    nvml_device_describe(d, &n->api, parent, index, instance);
    memcpy(d->facts.driver, n->driver, sizeof d->facts.driver);
}

/* The instances of a GPU that is divided; they stand behind it. */
static void add_instances(struct nvml *n, unsigned index)
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
            add_device(n, handle, parent, index, i);
}

static int find_devices(struct nvml *n, struct gpu_trouble *trouble)
{
    unsigned count = 0;
    int r = n->api.count(&count);
    if (r != NVML_OK) {
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "NVIDIA's library does not list its GPUs (error %d, %s): %s", r,
                 nvml_api_words(&n->api, r), advice(r));
        return -EIO;
    }
    n->devices = calloc(MOST_DEVICES, sizeof *n->devices);
    if (!n->devices)
        return -ENOMEM;
    for (unsigned i = 0; i < count && n->count < MOST_DEVICES; i++) {
        nvml_handle *handle;
        r = n->api.handle(i, &handle);
        if (r == NVML_OK) {
            add_device(n, handle, NULL, i, 0);
            add_instances(n, i);
        } else if (r != NVML_NO_PERMISSION || !*trouble->sentence) {
            snprintf(trouble->sentence, sizeof trouble->sentence,
                     "NVIDIA's GPU %u does not answer (error %d, %s): %s", i, r,
                     nvml_api_words(&n->api, r), advice(r));
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
    int r = begin(n, c, trouble);
    if (r == 0)
        r = find_devices(n, trouble);
    if (r < 0) {
        nvml_close(n);
        return r;
    }
    *ret_state = n;
    return 0;
}

/* ---- A look ---------------------------------------------------------------------------------- */

/* One thread for each device, when one takes longer than this: with sixteen of them, of a driver
 * that takes 50 ms for each call, one after the other takes many seconds. */
#define SLOW_NS (10 * NS_PER_MS)

struct tour {
    struct nvml *n;
    void (*visit)(struct nvml *n, struct nvml_device *d);
    _Atomic size_t next;
};

static void *visit_rest(void *arg)
{
    struct tour *t = arg;
    for (size_t i; (i = t->next++) < t->n->count;)
        t->visit(t->n, &t->n->devices[i]);
    return NULL;
}

static void visit_all(struct nvml *n, void (*visit)(struct nvml *n, struct nvml_device *d))
{
    struct tour t = {.n = n, .visit = visit};
    pthread_t threads[MOST_DEVICES];
    size_t count = 0;
    bool is_slow = false;
    while (!is_slow && t.next < n->count) {
        uint64_t began_ns = clock_mono(NULL);
        visit(n, &n->devices[t.next++]);
        is_slow = clock_mono(NULL) - began_ns > SLOW_NS;
    }
    for (size_t left = left_u64(n->count, t.next); left > 1 && count + 1 < left; count++)
        if (thread_start(&threads[count], THREAD_STACK_BYTES, visit_rest, &t) < 0)
            break;
    visit_rest(&t);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void visit_energy(struct nvml *n, struct nvml_device *own)
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

static void visit_figures(struct nvml *n, struct nvml_device *own)
{
    struct gpu_device *d = own->part.device_count ? &own->part.devices[0] : NULL;
    if (!d || d->is_lost)
        return;
    int r = nvml_device_read(own, &n->api, d, n->context->hurry);
    /* Of a divided GPU the processes are those of its instances. */
    if (r != NVML_LOST && !own->is_divided && !(n->context->hurry && *n->context->hurry))
        r = own->results[NVML_READING_PROCESSES] = nvml_processes_read(
            &own->processes, &n->api, own->handle, &own->shares, &n->pids, &own->part, 0,
            n->now_ns);
    if (r == NVML_LOST)
        nvml_device_lose(&own->part.devices[0]);
}

/* That a board does not have a figure is no failure. Each error is noted once, one in a look. */
static void note_failure(struct nvml *n, struct gpu_trouble *trouble)
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
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "NVIDIA's GPU %u: cannot read %s (error %d, %s); figures that fail like this are "
                 "unknown",
                 d->facts.index, nvml_device_reading(k % NVML_READINGS), r,
                 nvml_api_words(&n->api, r));
        return;
    }
}

static void join_parts(struct nvml *n, struct gpu_frame *f)
{
    f->device_count = f->process_count = 0;
    for (size_t i = 0; i < n->count; i++)
        gpu_frame_join(f, &n->devices[i].part, (unsigned)i, 1);
}

/* Energy first, since it counts up and is lost where it is not read in time. */
static void nvml_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                      struct gpu_trouble *trouble)
{
    struct nvml *n = state;
    n->now_ns = clock_mono(NULL);
    gpu_pids_begin(&n->pids, pids, pid_count, n->now_ns);
    visit_all(n, visit_energy);
    if (!f->energy_only) {
        if (n->context->energy_ready) {
            join_parts(n, f);
            n->context->energy_ready(n->context->arg, f);
        }
        visit_all(n, visit_figures);
    }
    join_parts(n, f);
    note_failure(n, trouble);
}

const struct gpu_vendor gpu_vendor_nvml = {
    .name = "nvidia",
    .people = "NVIDIA",
    .lost = "it has fallen off the bus",
    .means = "NVML",
    .is_likely = nvml_is_likely,
    .open = nvml_open,
    .read = nvml_read,
    .close = nvml_close,
    .in_helper = true,
};
