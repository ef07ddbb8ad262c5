/* SPDX-License-Identifier: MIT
 * /proc/PID/fdinfo/FD of an open GPU: what this client of the driver has used so far. */
#pragma once

#include "base/scan.h"

enum { DRM_NAME_BYTES = 24, DRM_ENGINES = 16, DRM_REGIONS = 16 };

/* An engine, or several of a kind: either its time is told, or its cycles. */
struct drm_engine {
    char name[DRM_NAME_BYTES]; /* gfx, render, rcs, … */
    bool has_busy, has_cycles, has_total;
    uint64_t busy_ns;
    uint64_t cycles;       /* that it worked for this client … */
    uint64_t total_cycles; /* … and that have gone by */
    uint64_t capacity;     /* how many there are of the kind */
};

struct drm_region {
    char name[DRM_NAME_BYTES]; /* vram, local0, system0, gtt, … */
    bool has_total, has_resident;
    uint64_t total_bytes;    /* allocated there or elsewhere */
    uint64_t resident_bytes; /* there now */
};

struct drm_fdinfo {
    char driver[DRM_NAME_BYTES]; /* amdgpu, i915, xe */
    char pci[DRM_NAME_BYTES];    /* 0000:03:00.0, lower case; "" when it is not told */
    uint64_t client;             /* one for each time the device was opened, of this device */
    struct drm_engine engines[DRM_ENGINES];
    unsigned engine_count;
    struct drm_region regions[DRM_REGIONS];
    unsigned region_count;
};

/* 0; -ENODATA when it is not the file of a GPU, or the driver does not tell clients apart;
 * -EBADMSG when a value is not as expected. Engines and regions beyond the most are left out. */
int parse_drm_fdinfo(struct scan text, struct drm_fdinfo *ret);

/* Memory of the GPU that the client has: that on the card, or of the machine where the GPU has none
 * of its own. False when the driver does not tell. */
bool drm_fdinfo_memory(const struct drm_fdinfo *d, uint64_t *ret_bytes);
