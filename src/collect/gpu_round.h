/* SPDX-License-Identifier: MIT
 * What the thread that reads GPUs does: it opens the vendors, and reads all their devices in rounds
 * that keep a distance. Any of it may take long, and may hang. */
#pragma once

#include "collect/gpu_helpers.h"

enum { GPU_VENDORS_MAX = 8 };

struct gpu_opened {
    const struct gpu_vendor *vendor;
    void *state;                /* its own */
    int result;                 /* of opening it */
    struct gpu_trouble trouble; /* of opening, then of the last round */
};

struct gpu_round {
    /* Given: */
    const struct sysroot *root;
    struct gpu_helpers *helpers;
    const struct gpu_vendor *const *vendors;
    bool all; /* every vendor, not those alone whose devices are likely */
    void (*turn_to)(void *arg, const struct gpu_vendor *vendor); /* before each call of a vendor */
    void *turn_arg;

    struct gpu_opened opened[GPU_VENDORS_MAX];
    size_t opened_count;
    struct gpu_frame frame; /* of the last round; whoever takes it puts another one there */

    uint64_t began_ns, cost_ns; /* of the last round … */
    uint64_t rest_ns;           /* … and from its beginning to that of the next */
};

/* Each may have a trouble to tell. How many are open. */
int gpu_round_open(struct gpu_round *r);

/* When to begin a round so that it is over when it is due; 0: at once. */
uint64_t gpu_round_begin_at(const struct gpu_round *r, uint64_t due_ns);

/* pids: of interest, sorted. */
void gpu_round_read(struct gpu_round *r, const pid_t *pids, size_t count);

void gpu_round_close(struct gpu_round *r);
