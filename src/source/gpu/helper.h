/* SPDX-License-Identifier: MIT
 * A vendor in a process of its own. The library of a driver may hang, crash, or print: there it
 * does so harmlessly, with /dev/null for its output, and is gone when the socket between the
 * two processes is closed.
 *
 * The thread that reads the vendor's GPUs calls open, read and close in place of the vendor's own;
 * each blocks for as long as the driver takes. */
#pragma once

#include "source/gpu/vendor.h"

#include <pthread.h>

/* ==== Gpu helpers ============================================================================= */

/* The helper processes of vendors: a list that the thread that samples may ask from time to time.
 */

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

/* ==== Gpu apart =============================================================================== */

struct gpu_apart;

/* The process is a program of its own, toll-gpu, where the library is a shared object and has it
 * beside it. Otherwise it is a copy of the program that the library is part of, and shares memory
 * with it. */
#define GPU_APART_PROGRAM "toll-gpu"

/* main() of that program. */
int gpu_apart_main(int argc, char **argv);

/* Starts the process, which begins to open the vendor. 0 or -errno. */
int gpu_apart_start(struct gpu_apart **ret, const struct gpu_vendor *vendor,
                    const struct sysroot *root, struct gpu_helpers *helpers);

/* The vendor that runs in it. */
const struct gpu_vendor *gpu_apart_vendor(const struct gpu_apart *a);

/* What the vendor's own open says; -EIO and a sentence when the process has died of it. */
int gpu_apart_open(struct gpu_apart *a, struct gpu_trouble *trouble);

/* What a look came to. */
enum gpu_look {
    GPU_LOOK_WHOLE,
    GPU_LOOK_ENERGY, /* energy alone was asked for, or the look was cut short */
    GPU_LOOK_DEAD,   /* there is nothing in the frame, and never will be; a sentence says why */
};

/* energy: told of the counters as soon as they are read, before all else, where that takes long. */
enum gpu_look gpu_apart_read(struct gpu_apart *a, struct gpu_frame *f, const pid_t *pids,
                             size_t count, struct gpu_trouble *trouble,
                             void (*energy)(void *arg, const struct gpu_frame *f), void *arg);

/* From another thread: a look that goes on ends with the call that is being made. */
void gpu_apart_hurry(struct gpu_apart *a);

/* From another thread: what waits for the process returns, and the process ends. */
void gpu_apart_hang_up(struct gpu_apart *a);

/* CPU time that the process has used, as far as it has said; from any thread. */
uint64_t gpu_apart_cpu_ns(const struct gpu_apart *a);

/* Accepts NULL. Waits some milliseconds for the end of the process at most. */
void gpu_apart_free(struct gpu_apart *a);
