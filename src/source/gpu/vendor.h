/* SPDX-License-Identifier: MIT
 * The contract of those who know about GPUs. A vendor is one file with a struct gpu_vendor, and one
 * line in gpu_vendors.c.
 *
 * All of it but is_likely is called from one thread, which is the vendor's and not the one that
 * samples: a driver may take seconds to begin and may hang. What is not known stays unknown, never
 * 0. */
#pragma once

#include "base/io/file.h"
#include "metric/frame.h"

#include <sys/types.h>

/* ==== Gpu vendor ============================================================================== */

enum { GPU_TEXT_BYTES = 96, GPU_UNKNOWN_PID = 0 };

/* Who a device is; "" for what is not known. */
struct gpu_facts {
    unsigned index;                   /* as the vendor counts */
    char uuid[GPU_TEXT_BYTES];        /* GPU-…, MIG-…; AMD: the unique id in hexadecimal */
    char name[GPU_TEXT_BYTES];        /* NVIDIA A100-SXM4-40GB */
    char pci[32];                     /* 0000:3b:00.0, lower case */
    char instance[32];                /* of a divided device (MIG), or "" */
    char legacy[GPU_TEXT_BYTES + 32]; /* its older name: MIG-GPU-…/1/0, or "" */
    char driver[32];                  /* its version: 550.54.14 */
    const char *vendor;               /* nvidia, amd, intel: static life */
    const char *means; /* how it is read: NVML, …; static life, filled in by the reader */
};

/* What a device tells of every process that uses it: whoever is not listed has none of it. */
enum {
    GPU_TELLS_MEMORY = 1 << 0,
    GPU_TELLS_SHARE = 1 << 1,
    GPU_TELLS_BUSY = 1 << 2,
};

struct gpu_vendor;

/* One device at one moment. */
struct gpu_device {
    struct gpu_facts facts;
    struct row row;     /* of ENTITY_GPU, as the driver says: counters since whenever it began */
    unsigned tells;     /* GPU_TELLS_… */
    bool is_divided;    /* its instances are devices of their own, and have its processes */
    bool is_lost;       /* it was there and is not any more; the reader tells it, once */
    uint64_t energy_ns; /* when its counter of energy was read, monotonic; 0: as the look began */

    /* Filled in by the reader: */
    const struct gpu_vendor *vendor;
    uint64_t read_ns; /* when, monotonic */
    uint64_t rest_ns; /* how long it is to the next reading, at least */
    uint64_t look_ns; /* how long reading all devices took */
};

/* What one process has of one device. */
struct gpu_process {
    unsigned device;   /* its place in gpu_frame.devices */
    pid_t pid;         /* in our pid namespace; GPU_UNKNOWN_PID: it cannot be told whose */
    bool has_left;     /* it has closed the device: its counter is all that is left */
    bool is_uncounted; /* it has used the device for a time that is told nowhere */
    bool has_memory, has_share, has_busy;
    uint64_t memory_bytes;
    double share;     /* of the device's time just now, 0 to 1 */
    uint64_t busy_ns; /* counter: engine time of this process on this device, the busiest engine */
};

/* What one round of reading gave, or the newest of all vendors. Arrays grow and are used again. */
struct gpu_frame {
    struct gpu_device *devices; /* owned */
    size_t device_count, device_capacity;
    struct gpu_process *processes; /* owned; each (device, pid) once */
    size_t process_count, process_capacity;
    uint64_t began_ns; /* a round, monotonic */
    bool energy_only;  /* asked of the vendor: counters of energy alone, as fast as may be */
};

/* Cleared, its row ready to be filled in; or NULL when there is no memory. */
struct gpu_device *gpu_frame_add_device(struct gpu_frame *f);

/* The one of that device and process, made if it is new; NULL when there is no memory. */
struct gpu_process *gpu_frame_process(struct gpu_frame *f, unsigned device, pid_t pid);

/* A copy of one that is not there yet. False when there is no memory. */
bool gpu_frame_add_process(struct gpu_frame *f, const struct gpu_process *p);

/* So many different pids as use that device. */
size_t gpu_frame_count(const struct gpu_frame *f, unsigned device);

/* Puts so many devices of a part at that place, which they had before or is the next that is free,
 * and adds their processes. What there is no memory for is left out. */
void gpu_frame_join(struct gpu_frame *f, const struct gpu_frame *part, unsigned place,
                    unsigned count);
void gpu_frame_clear(struct gpu_frame *f);
void gpu_frame_done(struct gpu_frame *f);

/* Why there is nothing, for people: one sentence, "" when there is nothing to say. */
struct gpu_trouble {
    char sentence[256];
};

/* Helper processes of vendors, so that nobody takes them for the job's. A vendor that needs one
 * starts it once, in open, and ends it in close and not before: whatever is reaped earlier would
 * count as used by the job. Commands are run by the helper, which reaps them itself. */
struct gpu_helpers;

/* Forks without a signal at the end; the child runs `run`, which makes system calls only (the
 * program around us may have threads), with all signals blocked, and ends with what it returns.
 * The pid, or a negative errno. */
pid_t gpu_helpers_start(struct gpu_helpers *h, int (*run)(void *arg), void *arg);

/* The same for a child that may use all of the C library, and may outlive us: see
 * quiet_fork_whole. */
pid_t gpu_helpers_start_whole(struct gpu_helpers *h, int (*run)(void *arg), void *arg);

/* A program of its own, which shares no memory with us: see quiet_fork_program. */
pid_t gpu_helpers_start_program(struct gpu_helpers *h, const char *path, char *const *argv,
                                const int *files, size_t count);

/* Waits for the end of one that is about to end, and kills it when that takes longer. */
void gpu_helpers_end_soon(struct gpu_helpers *h, pid_t pid, unsigned most_ms);

/* Kills it, and waits some milliseconds for its end at most. */
void gpu_helpers_end(struct gpu_helpers *h, pid_t pid);

/* What a vendor is opened with; all of it outlives the vendor's state. */
struct gpu_context {
    const struct sysroot *root;  /* its own descriptors, open for as long as the reader lives */
    struct gpu_helpers *helpers; /* NULL: none are to be had */

    /* For a vendor whose calls may be slow; each may be NULL: */
    void (*energy_ready)(void *arg, const struct gpu_frame *f); /* energy of all is in the frame */
    void *arg;
    const _Atomic bool *hurry; /* the look need not be brought to its end */
};

struct gpu_vendor {
    const char *name;   /* nvidia */
    const char *people; /* NVIDIA: in sentences */
    const char *means;  /* NVML, amdgpu sysfs, … */
    const char *lost;   /* "it has fallen off the bus": what is_lost of a device means */

    /* A cheap look whether there may be such a device, from the thread that samples: files that
     * are there or not. Where nothing looks likely nothing is opened, unless GPUs were asked for.
     */
    bool (*is_likely)(const struct sysroot *root);

    /* 0; -ENODEV when there is no such device or driver here, which needs no word; another error
     * with a sentence. It may take long. */
    int (*open)(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble);

    /* Add the devices, always the same in the same order, and the processes that use them.
     * pids: those of interest, sorted, for vendors that have to ask each process (fdinfo); a vendor
     * that is told of processes by the driver adds all. Trouble is told once. */
    void (*read)(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                 struct gpu_trouble *trouble);
    void (*close)(void *state);

    /* It calls code that is not ours, which may crash: in a process of its own. */
    bool in_helper;

    /* The vendor whose place this one takes where that could not be opened (a command in the place
     * of a library), or NULL. Such a one stands right behind it in the list, and shares its thread.
     */
    const struct gpu_vendor *instead_of;
};

/* THE list, NULL behind the last. */
extern const struct gpu_vendor *const gpu_vendors[];

/* Whether devices of the first one in the list, or of those that stand for it, are likely. */
bool gpu_vendor_is_likely(const struct gpu_vendor *const *first, const struct sysroot *root);

/* The next in the list that stands for nobody, NULL behind the last. */
const struct gpu_vendor *const *gpu_vendor_next(const struct gpu_vendor *const *first);

/* Whether any device is. */
bool gpu_vendors_are_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root);

/* ==== Gpu vendors ============================================================================= */

/* The vendors of GPUs by name, for their list. */

extern const struct gpu_vendor gpu_vendor_nvml;
extern const struct gpu_vendor gpu_vendor_amdgpu;
extern const struct gpu_vendor gpu_vendor_intel;

/* ==== Gpu sentences =========================================================================== */

/* What those who read GPUs have to tell people, once each. */

struct gpu_sentences {
    struct gpu_trouble said[32];
    unsigned said_count, told_count;
};

/* One that is empty, or was said before, is not said again. */
void gpu_sentences_say(struct gpu_sentences *s, const struct gpu_trouble *trouble);
void gpu_sentences_say_lost(struct gpu_sentences *s, const struct gpu_device *d);

/* The next that nobody was told yet; false: there is none. */
bool gpu_sentences_tell(struct gpu_sentences *s, struct gpu_trouble *ret);
