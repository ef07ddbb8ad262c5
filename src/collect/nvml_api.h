/* SPDX-License-Identifier: MIT
 * What we use of NVIDIA's management library, libnvidia-ml.so.1, in declarations of our own. Any of
 * the functions may be NULL: the figure it gives is then not known. */
#pragma once

#include "collect/gpu_vendor.h"

enum nvml_result {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_TOO_SMALL = 7, /* and the count that is needed */
    NVML_NO_DRIVER = 9,
    NVML_NO_LIBRARY = 12,
    NVML_NO_FUNCTION = 13, /* the library has it, the driver has not */
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

/* Lists of processes; of each the versions, newest first. */
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

/* Finds what there is. -ENOSYS and a sentence when not even the beginning is there. */
int nvml_api_find(struct nvml_api *api, void *library, struct gpu_trouble *trouble);

/* What the library says of a result, or words of our own. */
const char *nvml_api_words(const struct nvml_api *api, int result);
