/* SPDX-License-Identifier: MIT
 * One GPU of NVIDIA, or one instance of a divided one. */
#pragma once

#include "collect/nvml_processes.h"

enum { NVML_READINGS = 10, NVML_READING_PROCESSES = NVML_READINGS - 1 };

struct nvml_device {
    nvml_handle *handle;
    struct gpu_facts facts;
    struct nvml_shares shares;
    bool is_divided;  /* it has instances: its utilisation is not to be had */
    bool is_instance; /* it is one of these */

    /* Of the look that goes on: */
    struct gpu_frame part;      /* owned; the device and its processes */
    int results[NVML_READINGS]; /* what the library said of each reading */
    struct nvml_processes processes;
};

/* Fills in who it is; parent: what it is an instance of, or NULL. */
void nvml_device_describe(struct nvml_device *d, const struct nvml_api *api, nvml_handle *parent,
                          unsigned index, unsigned instance);

/* Fills in the energy and when it was read; NVML_LOST when the GPU is, otherwise what the library
 * said. */
int nvml_device_read_energy(struct nvml_device *d, const struct nvml_api *api,
                            struct gpu_device *ret);

/* Fills in the rest of the row, as far as the driver answers and there is no hurry, which may be
 * NULL. NVML_LOST or NVML_OK. */
int nvml_device_read(struct nvml_device *d, const struct nvml_api *api, struct gpu_device *ret,
                     const _Atomic bool *hurry);

/* What a reading gives. */
const char *nvml_device_reading(unsigned i);

/* Nothing is known of it any more. */
void nvml_device_lose(struct gpu_device *d);
