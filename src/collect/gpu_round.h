/* SPDX-License-Identifier: MIT
 * What a thread that reads GPUs does: it opens a vendor, or one that stands for it, and reads its
 * devices in rounds that keep a distance. Any of it may take long, and may hang. */
#pragma once

#include "collect/gpu_apart.h"

enum { GPU_STAND_INS = 4 };

/* To open one of them. */
struct gpu_attempt {
    int result;
    struct gpu_trouble trouble;
};

struct gpu_round {
    /* Given: */
    const struct sysroot *root;
    struct gpu_helpers *helpers;
    const struct gpu_vendor *const *vendors; /* the first, and those behind it that stand for it */
    bool all;                                /* each, not those alone whose devices are likely */
    void (*turn_to)(void *arg, const struct gpu_vendor *vendor); /* before each call of a vendor */
    void *turn_arg;

    struct gpu_apart *apart; /* borrowed; NULL, or where its vendor runs */
    void (*energy)(void *arg, const struct gpu_frame *f); /* of a slow look, before its end */

    struct gpu_attempt attempts[GPU_STAND_INS];
    size_t attempt_count;
    const struct gpu_vendor *vendor; /* the one that is open, NULL: none is */
    void *state;                     /* its own */

    struct gpu_frame frame; /* of the last round; whoever takes it puts another one there */
    struct gpu_trouble trouble;

    uint64_t began_ns, cost_ns; /* of the last round … */
    uint64_t rest_ns;           /* … and from its beginning to that of the next */
};

/* Whether one is open. Each attempt may have a trouble to tell. */
bool gpu_round_open(struct gpu_round *r);

/* When to begin a round so that it is over when it is due; 0: at once. */
uint64_t gpu_round_begin_at(const struct gpu_round *r, uint64_t due_ns);

/* Where one is open. pids: of interest, sorted. energy_only: counters of energy will do. */
enum gpu_look gpu_round_read(struct gpu_round *r, const pid_t *pids, size_t count,
                             bool energy_only);

void gpu_round_close(struct gpu_round *r);
