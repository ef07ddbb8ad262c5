/* SPDX-License-Identifier: MIT
 * The helper processes of vendors: a list that the thread that samples may ask from time to time.
 */
#pragma once

#include "collect/gpu_vendor.h"

#include <pthread.h>

enum { GPU_HELPERS = 4 };

struct gpu_helpers {
    pthread_mutex_t lock;
    pid_t pids[GPU_HELPERS];
    size_t count;
};

void gpu_helpers_init(struct gpu_helpers *h);
void gpu_helpers_done(struct gpu_helpers *h);

/* Whether that child of ours is one; from any thread. */
bool gpu_helpers_has(struct gpu_helpers *h, pid_t pid);
