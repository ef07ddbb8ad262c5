/* SPDX-License-Identifier: MIT
 * Reads the GPUs of one vendor in a thread of its own, since a driver may take seconds to begin and
 * may hang.
 *
 * Whoever samples asks for a frame by the time of the next sample, and takes the newest one there
 * is: neither waits. A thread that hangs is left behind at the end; it owns all that it touches. */
#pragma once

#include "source/gpu/helper.h"

/* ==== Gpu reader ============================================================================== */

struct gpu_reader;

/* vendors: the first, and those behind it that stand for it. all: whether devices are likely or
 * not. An error when a thread cannot be had. */
int gpu_reader_start(struct gpu_reader **ret, const struct sysroot *root,
                     const struct gpu_vendor *const *vendors, bool all);

/* It need not go on; says so and does not wait. */
void gpu_reader_stop(struct gpu_reader *r);

/* Waits for the thread until then at most, and leaves it behind. Whether it ended. */
bool gpu_reader_free(struct gpu_reader *r, uint64_t until_ns);

/* Whether the next frame is asked for already. */
bool gpu_reader_is_asked(struct gpu_reader *r);

/* A frame is wanted by then, not sooner than a tenth of a second after the one before, and later
 * where reading one takes much CPU time; 0: at once. pids: of interest, sorted. */
void gpu_reader_ask(struct gpu_reader *r, const pid_t *pids, size_t count, uint64_t due_ns);

/* The run ends: of a vendor whose look takes long, counters of energy will do, at once. */
void gpu_reader_hurry(struct gpu_reader *r);

/* How long its counters of energy took when they were last read, where that takes long. */
uint64_t gpu_reader_energy_cost_ns(struct gpu_reader *r);

/* CPU time of the process that the vendor runs in, as far as is known. */
uint64_t gpu_reader_helper_cpu_ns(struct gpu_reader *r);

/* Swaps the newest frame with the caller's, which is used again; false when there is none that was
 * not taken yet. */
bool gpu_reader_take(struct gpu_reader *r, struct gpu_frame *f);

/* Brings counters of energy that were read since then into the frame, which has the devices in the
 * same order, or none yet; whether there were any. Devices of which nothing else is known have
 * read_ns 0. */
bool gpu_reader_take_energy(struct gpu_reader *r, struct gpu_frame *f);

/* Waits until the frame that was asked for is there, or none will come since no vendor is open;
 * false when that took too long. */
bool gpu_reader_wait_frame(struct gpu_reader *r, uint64_t until_ns);

/* Whether the vendor is; -EAGAIN while it still begins. */
int gpu_reader_is_open(struct gpu_reader *r);

/* The next sentence for people, once each. */
bool gpu_reader_says(struct gpu_reader *r, struct gpu_trouble *ret);

/* Why nothing was found: for those who asked for GPUs. "" when there is nothing to say. */
void gpu_reader_excuse(struct gpu_reader *r, struct gpu_trouble *ret);

/* Whether that child of ours is a helper of the vendor. */
bool gpu_reader_has_child(struct gpu_reader *r, pid_t pid);

/* How long the vendor has been beginning, or its devices being read, and which of those that stand
 * for each other it is, or NULL; 0 when neither. */
uint64_t gpu_reader_busy_ns(struct gpu_reader *r, const struct gpu_vendor **ret_with);

/* The thread. */
pid_t gpu_reader_thread(const struct gpu_reader *r);

/* ==== Gpu round =============================================================================== */

/* What a thread that reads GPUs does: it opens a vendor, or one that stands for it, and reads its
 * devices in rounds that keep a distance. Any of it may take long, and may hang. */

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
