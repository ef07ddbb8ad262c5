/* SPDX-License-Identifier: MIT
 * The contract of a GPU vendor, and the frame that vendors fill in. A vendor is one file with a
 * struct gpu_vendor, and one line in vendor.c.
 *
 * All of a vendor's functions except is_likely are called from one thread, which is not the one
 * that samples: a driver may take seconds to begin and may hang. What is not known stays unknown,
 * never 0. */
#pragma once

#include "base/io/file.h"
#include "base/memory.h"
#include "metric/frame.h"

#include <pthread.h>
#include <sys/types.h>

/* ==== Frame =================================================================================== */

enum { GPU_TEXT_BYTES = 96, GPU_UNKNOWN_PID = 0 };

/* The identity of a device; "" for what is not known. */
struct gpu_facts {
    unsigned index;                   /* as the vendor counts */
    char uuid[GPU_TEXT_BYTES];        /* GPU-…, MIG-…; AMD: the unique id in hexadecimal */
    char name[GPU_TEXT_BYTES];        /* NVIDIA A100-SXM4-40GB */
    char pci[32];                     /* 0000:3b:00.0, lower case */
    char instance[32];                /* number of an instance of a divided device (MIG), or "" */
    char legacy[GPU_TEXT_BYTES + 32]; /* older name of an instance: MIG-GPU-…/1/0, or "" */
    char driver[32];                  /* its version: 550.54.14 */
    const char *vendor;               /* nvidia, amd, intel; static */
    const char *means;                /* NVML, …; static, filled in by the reader */
};

/* Writes nvidia0, or nvidia0:1 for an instance of a divided GPU. */
void gpu_facts_name(const struct gpu_facts *f, char *ret, size_t size);

/* Which figures a device reports for every process that uses it: a process that is not listed has
 * none of it. */
enum {
    GPU_LISTS_MEMORY = 1 << 0,
    GPU_LISTS_SHARE = 1 << 1,
    GPU_LISTS_BUSY = 1 << 2,
};

/* One device at one moment. */
struct gpu_device {
    struct gpu_facts facts;
    struct row row;     /* of ENTITY_GPU; counters as the driver has them */
    unsigned lists;     /* GPU_LISTS_… */
    bool is_divided;    /* its instances are devices of their own and have its processes */
    bool is_lost;       /* it was there and is gone; the reader reports that once */
    uint64_t energy_ns; /* when its energy counter was read, monotonic; 0: when the look began */

    /* Filled in by the reader: */
    const struct gpu_vendor *vendor;
    uint64_t read_ns; /* when the look ended, monotonic; 0: only the energy was read yet */
    uint64_t rest_ns; /* the time until the next look, at least */
    uint64_t look_ns; /* how long reading all devices took */
};

/* What one process has of one device. */
struct gpu_process {
    unsigned device;   /* its index in gpu_frame.devices */
    pid_t pid;         /* in our pid namespace, or GPU_UNKNOWN_PID */
    bool has_left;     /* it has closed the device: only its counter is left */
    bool is_uncounted; /* it has used the device for a time that the driver does not count */
    bool has_memory, has_share, has_busy;
    uint64_t memory_bytes;
    double share;     /* of the device's time now, 0 to 1 */
    uint64_t busy_ns; /* counter: time of the busiest engine of this device for this process */
};

/* The devices and processes of one look. Arrays grow and are used again. */
struct gpu_frame {
    struct gpu_device *devices; /* owned */
    size_t device_count, device_capacity;
    struct gpu_process *processes; /* owned; each (device, pid) once */
    size_t process_count, process_capacity;
    bool energy_only; /* a request: read energy counters only, as fast as possible */
};

/* Adds a cleared device whose row is ready to be filled in; NULL when there is no memory. */
struct gpu_device *gpu_frame_add_device(struct gpu_frame *f);

/* Finds or adds the process on that device; NULL when there is no memory. */
struct gpu_process *gpu_frame_process(struct gpu_frame *f, unsigned device, pid_t pid);

/* Adds a copy of a process that is not in the frame yet. False when there is no memory. */
bool gpu_frame_add_process(struct gpu_frame *f, const struct gpu_process *p);

/* The number of pids on that device. */
size_t gpu_frame_count(const struct gpu_frame *f, unsigned device);

/* Copies the first count devices of part to index place on, which is an index they had before or
 * the end of the list, and adds their processes. What there is no memory for is left out. */
void gpu_frame_join(struct gpu_frame *f, const struct gpu_frame *part, unsigned place,
                    unsigned count);
void gpu_frame_clear(struct gpu_frame *f);
void gpu_frame_done(struct gpu_frame *f);

/* ==== Vendor ================================================================================== */

/* Why something cannot be read: one sentence for people, or "". */
struct gpu_trouble {
    char sentence[256];
};

/* What a vendor is opened with; all of it outlives the vendor's state. */
struct gpu_context {
    const struct sysroot *root;

    /* For a vendor whose calls may be slow; each may be NULL: */
    void (*energy_ready)(void *arg, const struct gpu_frame *f); /* all energy is in the frame */
    void *arg;
    const _Atomic bool *hurry; /* when set, the look may be cut short */
};

struct gpu_vendor {
    const char *name;   /* nvidia */
    const char *people; /* NVIDIA: in sentences */
    const char *means;  /* NVML, amdgpu sysfs, … */
    const char *lost;   /* "it has fallen off the bus": what is_lost of a device means */

    /* Whether files show that there may be such a device. Cheap; called from the thread that
     * samples. Without it nothing is opened, unless the user asked for GPUs. */
    bool (*is_likely)(const struct sysroot *root);

    /* 0; -ENODEV when there is no such device or driver here, which is not reported; another error
     * with a sentence. May take long. */
    int (*open)(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble);

    /* Adds the devices, always the same in the same order, and the processes that use them. pids:
     * those of interest, sorted, for vendors that have to look at each process (fdinfo). A vendor
     * whose driver lists processes adds all of them. */
    void (*read)(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                 struct gpu_trouble *trouble);
    void (*close)(void *state);

    /* It calls code of others, which may crash: it runs in a helper process. */
    bool in_helper;
};

extern const struct gpu_vendor gpu_vendor_nvml;
extern const struct gpu_vendor gpu_vendor_amdgpu;
extern const struct gpu_vendor gpu_vendor_intel;

/* All vendors, NULL-terminated. */
extern const struct gpu_vendor *const gpu_vendors[];

/* Whether this machine has files that a driver of any vendor makes: cheaper than to look for
 * devices, of which there are none otherwise. */
bool gpu_traces_are_here(void);

/* Whether a device of any of the vendors is likely. */
bool gpu_vendors_are_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root);

/* ==== Pids ==================================================================================== */

/* Maps the pids that a driver reports to ours.
 * A driver counts processes as the machine does. In a container these are not our pids, unless the
 * driver has translated them, which new drivers do and old ones do not: a pid that exists here may
 * be the number of another process there. There a pid is accepted only when something confirms it:
 * the process has it next to another one in its NSpid line, or has the driver's device open.
 * Otherwise the process is unknown. */

struct gpu_pids {
    pthread_mutex_t lock;       /* devices may be read side by side */
    const struct sysroot *root; /* borrowed */
    bool is_nested;             /* toll runs in a pid namespace */
    const pid_t *interest;      /* borrowed for a round: the processes of interest, sorted */
    size_t interest_count;
    uint64_t signature;   /* of interest: shows whether it has changed */
    uint64_t renewed_ns;  /* when the rest was forgotten last */
    struct map called;    /* from pids in other namespaces to ours, or 0 when several match */
    bool is_called_read;  /* called is filled in */
    struct map opened;    /* from a pid to itself when it has a device open, or to 0 */
    bool has_opener;      /* a process of interest has a device open */
    bool is_opener_known; /* has_opener is filled in */
};

void gpu_pids_init(struct gpu_pids *p, const struct sysroot *root);
void gpu_pids_done(struct gpu_pids *p);

/* Begins a round of reading. */
void gpu_pids_begin(struct gpu_pids *p, const pid_t *interest, size_t count, uint64_t now_ns);

/* Whether an empty list of processes says nothing: in a container some drivers list none, though a
 * process of interest has a device open. */
bool gpu_pids_hide_users(struct gpu_pids *p);

/* Our pid of a process, or GPU_UNKNOWN_PID. */
pid_t gpu_pids_map(struct gpu_pids *p, unsigned driver_pid);
