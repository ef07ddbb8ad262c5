/* SPDX-License-Identifier: MIT */
#include "collect/gpu_vendors.h"

const struct gpu_vendor *const gpu_vendors[] = {
    &gpu_vendor_nvml,
    &gpu_vendor_nvidia_smi,
    &gpu_vendor_amdgpu,
    &gpu_vendor_amd_smi,
    &gpu_vendor_intel,
    NULL,
};
