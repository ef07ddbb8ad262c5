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

const struct gpu_vendor *const *gpu_vendor_next(const struct gpu_vendor *const *first)
{
    const struct gpu_vendor *const *next = first + 1;
    while (*next && (*next)->instead_of)
        next++;
    return next;
}

bool gpu_vendor_is_likely(const struct gpu_vendor *const *first, const struct sysroot *root)
{
    for (const struct gpu_vendor *const *v = first; v < gpu_vendor_next(first); v++)
        if ((*v)->is_likely(root))
            return true;
    return false;
}

bool gpu_vendors_are_likely(const struct gpu_vendor *const *vendors, const struct sysroot *root)
{
    for (; *vendors; vendors = gpu_vendor_next(vendors))
        if (gpu_vendor_is_likely(vendors, root))
            return true;
    return false;
}
