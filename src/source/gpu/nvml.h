/* SPDX-License-Identifier: MIT
 * NVIDIA's library NVML: its functions, one device, and the processes on a device. */
#pragma once

#include "source/gpu/vendor.h"

/* ==== Nvml api ================================================================================ */

/* The part of NVIDIA's management library, libnvidia-ml.so.1, that is used here, in declarations of
 * our own. Any of the functions may be NULL: the figure it gives is then not known. */

enum nvml_result {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_TOO_SMALL = 7, /* and the count that is needed */
    NVML_NO_DRIVER = 9,
    NVML_NO_LIBRARY = 12,
    NVML_NO_FUNCTION = 13, /* the driver does not have it, though the library does */
    NVML_LOST = 15,
    NVML_MISMATCH = 18, /* of driver and library */
    NVML_OTHER_VERSION = 25,
    NVML_NOT_READY = 27,
};

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

typedef void nvml_handle; /* opaque */

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes; used has what the driver reserves */
};

struct nvml_memory_v2 {
    unsigned version; /* NVML_MEMORY_V2 */
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2U << 24)

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, ids[2];
    char bus_id[32];
    char newer[188]; /* room for what may be added */
};

struct nvml_process_sample {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder; /* percent */
};

/* Lists of processes, each with several versions, newest first. */
enum { NVML_COMPUTE, NVML_GRAPHICS, NVML_MPS, NVML_LISTS, NVML_LIST_VERSIONS = 3 };

typedef int nvml_list(nvml_handle *d, unsigned *count, void *infos);

struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*driver_version)(char *text, unsigned size);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, nvml_handle **device);
    int (*uuid)(nvml_handle *d, char *text, unsigned size);
    int (*name)(nvml_handle *d, char *text, unsigned size);
    int (*pci)(nvml_handle *d, struct nvml_pci *pci);
    int (*utilization)(nvml_handle *d, struct nvml_utilization *u);
    int (*memory)(nvml_handle *d, struct nvml_memory *m);
    int (*memory_v2)(nvml_handle *d, struct nvml_memory_v2 *m);
    int (*power)(nvml_handle *d, unsigned *milliwatts);
    int (*power_limit)(nvml_handle *d, unsigned *milliwatts);
    int (*energy)(nvml_handle *d, unsigned long long *millijoules);
    int (*temperature)(nvml_handle *d, int sensor, unsigned *celsius);
    int (*clock)(nvml_handle *d, int type, unsigned *megahertz);
    int (*encoder)(nvml_handle *d, unsigned *percent, unsigned *period_us);
    int (*decoder)(nvml_handle *d, unsigned *percent, unsigned *period_us);
    int (*throttle)(nvml_handle *d, unsigned long long *reasons);
    int (*samples)(nvml_handle *d, struct nvml_process_sample *s, unsigned *count,
                   unsigned long long since_us);
    int (*mig_mode)(nvml_handle *d, unsigned *current, unsigned *pending);
    int (*mig_count)(nvml_handle *d, unsigned *most);
    int (*mig_handle)(nvml_handle *d, unsigned index, nvml_handle **device);
    int (*gpu_instance)(nvml_handle *d, unsigned *id);
    int (*compute_instance)(nvml_handle *d, unsigned *id);
    nvml_list *lists[NVML_LISTS][NVML_LIST_VERSIONS];
};

/* Finds the functions. -ENOSYS and a sentence when those that list GPUs are missing. */
int nvml_api_find(struct nvml_api *api, void *library, struct gpu_trouble *trouble);

/* The library's words for a result, or our own. */
const char *nvml_api_words(const struct nvml_api *api, int result);

/* ==== Nvml processes ========================================================================== */

/* How one list is read, once that is known. */
struct nvml_list_ways {
    unsigned version; /* index in nvml_api.lists[list] */
    size_t stride;    /* bytes from one entry to the next; 0: not known yet */
    unsigned seen_in; /* the number of entries of the list it was measured in */
};

struct nvml_processes {
    unsigned char *infos;                /* owned */
    size_t info_room;                    /* in entries of the largest size */
    struct nvml_process_sample *samples; /* owned */
    size_t sample_room;
};

/* The last share of a device that the driver reported for a process. */
struct nvml_share {
    unsigned pid; /* as the driver counts */
    double share;
    unsigned long long time_us; /* by the driver's clock */
    uint64_t listed_ns;         /* by ours */
};

/* What has to be remembered of each device. */
struct nvml_shares {
    struct nvml_list_ways ways[NVML_LISTS];
    struct nvml_share *items; /* owned */
    size_t count, capacity;
    unsigned long long since_us;
    uint64_t asked_ns; /* when samples were first asked for; 0: never */
    bool has_history;  /* the first answer had samples, which may be of any time before */
};

void nvml_processes_done(struct nvml_processes *p);
void nvml_shares_done(struct nvml_shares *s);

/* The bytes from one entry to the next in a list of count entries, whose last written byte is at
 * length - 1; 0 when no driver has such a layout. */
size_t nvml_processes_stride(size_t length, unsigned count);

/* Adds the processes of a device to the frame, and fills in its row and `lists`. NVML_LOST when the
 * GPU is lost, otherwise what the library returned. */
int nvml_processes_read(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                        struct nvml_shares *shares, struct gpu_pids *pids, struct gpu_frame *f,
                        unsigned device, uint64_t now_ns);

/* ==== Nvml device ============================================================================= */

/* One GPU of NVIDIA, or one instance of a divided one. */

enum { NVML_READINGS = 10, NVML_READING_PROCESSES = NVML_READINGS - 1 };

struct nvml_device {
    nvml_handle *handle;
    struct gpu_facts facts;
    struct nvml_shares shares;
    bool is_divided;  /* it has instances, and no utilisation of its own */
    bool is_instance; /* it is an instance of a divided GPU */

    /* Of the current look: */
    struct gpu_frame part;      /* owned; the device and its processes */
    int results[NVML_READINGS]; /* what the library returned for each reading */
    struct nvml_processes processes;
};

/* Fills in d->facts. parent: the GPU that it is an instance of, or NULL. */
void nvml_device_describe(struct nvml_device *d, const struct nvml_api *api, nvml_handle *parent,
                          unsigned index, unsigned instance);

/* Fills in the energy and when it was read. NVML_LOST when the GPU is lost, otherwise what the
 * library returned. */
int nvml_device_read_energy(struct nvml_device *d, const struct nvml_api *api,
                            struct gpu_device *ret);

/* Fills in the rest of the row, as far as the driver answers. hurry may be NULL: when set, the rest
 * is left out. NVML_LOST or NVML_OK. */
int nvml_device_read(struct nvml_device *d, const struct nvml_api *api, struct gpu_device *ret,
                     const _Atomic bool *hurry);

/* The name of a reading, for messages. */
const char *nvml_device_reading(unsigned i);

/* Marks it as lost: nothing is known of it any more. */
void nvml_device_lose(struct gpu_device *d);
