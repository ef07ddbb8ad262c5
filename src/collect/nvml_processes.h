/* SPDX-License-Identifier: MIT
 * The processes on an NVIDIA GPU: their memory and their share of its time. */
#pragma once

#include "collect/gpu_pids.h"
#include "collect/nvml_api.h"

/* How one list is read, once that is known. */
struct nvml_list_ways {
    unsigned version; /* place in nvml_api.lists[list] */
    size_t stride;    /* bytes from one entry to the next; 0: not known yet … */
    unsigned seen_in; /* … in a list of so many entries */
};

struct nvml_processes {
    unsigned char *infos;                /* owned */
    size_t info_room;                    /* in entries of the largest size */
    struct nvml_process_sample *samples; /* owned */
    unsigned sample_room;
};

/* A share of a device that a process had, as it was last told. */
struct nvml_share {
    unsigned pid; /* as the driver counts */
    double share;
    unsigned long long time_us; /* by the driver's clock */
    uint64_t told_ns;           /* by ours */
};

/* What has to be remembered of each device. */
struct nvml_shares {
    struct nvml_list_ways ways[NVML_LISTS];
    struct nvml_share *items; /* owned */
    size_t count, capacity;
    unsigned long long since_us;
    uint64_t asked_ns; /* for the first time; 0: not yet */
    bool has_history;  /* what it said then may be of any time before */
};

void nvml_processes_done(struct nvml_processes *p);
void nvml_shares_done(struct nvml_shares *s);

/* The bytes from one of count entries to the next, of which the last byte written is at length - 1;
 * 0 when that is no layout that any driver has. */
size_t nvml_processes_stride(size_t length, unsigned count);

/* Adds the processes of a device to the frame, and says in its row and in `tells` what is known.
 * NVML_LOST when the GPU is, otherwise what the library said. */
int nvml_processes_read(struct nvml_processes *p, const struct nvml_api *api, nvml_handle *handle,
                        struct nvml_shares *shares, struct gpu_pids *pids, struct gpu_frame *f,
                        unsigned device, uint64_t now_ns);
