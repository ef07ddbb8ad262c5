/* SPDX-License-Identifier: MIT
 * A vendor in a helper process. The library of a driver may hang, crash, or print: there it does so
 * harmlessly, with /dev/null for its output, and ends when the socket between the two processes is
 * closed.
 *
 * The thread that reads the vendor's GPUs calls gpu_helper_open and gpu_helper_read in place of the
 * vendor's own functions; each blocks for as long as the driver takes.
 *
 * The helper is a program of its own, toll-gpu, where the library is a shared object and has that
 * program beside it. Otherwise it is a copy of the program that the library is part of, and shares
 * memory with it. */
#pragma once

#include "source/gpu/vendor.h"

struct gpu_helper;

/* main() of toll-gpu. */
int gpu_helper_main(int argc, char **argv);

/* Starts the process, which begins to open the vendor. root is borrowed for the life of the helper.
 * 0 or -errno. */
int gpu_helper_start(struct gpu_helper **ret, const struct gpu_vendor *vendor,
                     const struct sysroot *root);

/* Returns what the vendor's own open returned; -EIO and a message when the process crashed. */
int gpu_helper_open(struct gpu_helper *h, struct gpu_trouble *trouble);

enum gpu_look {
    GPU_LOOK_WHOLE,
    GPU_LOOK_ENERGY, /* energy alone was asked for, or the look was cut short */
    GPU_LOOK_DEAD,   /* the process crashed, as a message says: the frame is empty from now on */
};

/* energy is called with the counters of energy as soon as they are read, where a look takes long.
 */
enum gpu_look gpu_helper_read(struct gpu_helper *h, struct gpu_frame *f, const pid_t *pids,
                              size_t count, struct gpu_trouble *trouble,
                              void (*energy)(void *arg, const struct gpu_frame *f), void *arg);

/* From another thread: the look that is going on ends after the current call into the library. */
void gpu_helper_hurry(struct gpu_helper *h);

/* From another thread: calls that wait for the process return, and the process ends. */
void gpu_helper_hang_up(struct gpu_helper *h);

/* CPU time of the process, as of its last answer; from any thread. */
uint64_t gpu_helper_cpu_ns(const struct gpu_helper *h);

/* Whether that child of this process is the helper, or was; from any thread. */
bool gpu_helper_is(struct gpu_helper *h, pid_t pid);

/* Accepts NULL. Waits some milliseconds at most for the end of the process. */
void gpu_helper_free(struct gpu_helper *h);
