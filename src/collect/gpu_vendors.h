/* SPDX-License-Identifier: MIT
 * The vendors of GPUs by name, for their list. */
#pragma once

#include "collect/gpu_vendor.h"

extern const struct gpu_vendor gpu_vendor_nvml;
extern const struct gpu_vendor gpu_vendor_nvidia_smi;
extern const struct gpu_vendor gpu_vendor_amdgpu;
extern const struct gpu_vendor gpu_vendor_amd_smi;
extern const struct gpu_vendor gpu_vendor_intel;
