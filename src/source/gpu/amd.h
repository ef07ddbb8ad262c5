/* SPDX-License-Identifier: MIT
 * Processes that compute on AMD GPUs by ROCm. Their queues are outside of what fdinfo tells; the
 * compute driver (KFD) has files of its own. */
#pragma once

#include "base/io/file.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct amd_kfd_node {
    uint64_t gpu_id;
    uint64_t compute_units; /* 0 when it is not known */
    char pci[24];           /* 0000:03:00.0 */
};

struct amd_kfd {
    struct amd_kfd_node *nodes; /* owned; those that are GPUs */
    size_t count;
};

/* What one process has of one GPU. */
struct amd_kfd_use {
    const struct amd_kfd_node *node;
    unsigned pid; /* as the machine counts, see gpu_pids.h */
    bool has_memory, has_units;
    uint64_t memory_bytes;
    uint64_t units; /* compute units it occupies just now */
};

/* 0; -ENODEV when there is no such driver, or -ENOMEM. */
int amd_kfd_open(struct amd_kfd *ret, const struct sysroot *root);
void amd_kfd_close(struct amd_kfd *k);

/* Calls visit with every process and GPU. */
void amd_kfd_read(const struct amd_kfd *k, const struct sysroot *root,
                  void (*visit)(void *arg, const struct amd_kfd_use *use), void *arg);
