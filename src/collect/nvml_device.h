/* SPDX-License-Identifier: MIT
 * One GPU of NVIDIA, or one instance of a divided one. */
#pragma once

#include "collect/nvml_processes.h"

struct nvml_device {
    nvml_handle *handle;
    struct gpu_facts facts;
    struct nvml_shares shares;
    bool is_divided;  /* it has instances: its utilisation is not to be had */
    bool is_instance; /* it is one of these */
};

/* Fills in who it is; parent: what it is an instance of, or NULL. */
void nvml_device_describe(struct nvml_device *d, const struct nvml_api *api, nvml_handle *parent,
                          unsigned index, unsigned instance);

/* Fills in the row, as far as the driver answers. NVML_LOST or NVML_OK. */
int nvml_device_read(const struct nvml_device *d, const struct nvml_api *api,
                     struct gpu_device *ret);

/* Nothing is known of it any more. */
void nvml_device_lose(struct gpu_device *d);
