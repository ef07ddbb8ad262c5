/* SPDX-License-Identifier: MIT
 * The GPUs of all vendors: each has a reader of its own, so that a driver that hangs costs the
 * figures of its own devices alone. What they read becomes one frame. */
#pragma once

#include "source/gpu/vendor.h"

enum { GPU_READERS_MAX = 4 };

struct gpu_readers;

/* all: a reader for every vendor; otherwise for those whose devices are likely. -ENODEV when none
 * are, other errors when a thread cannot be had. vendors: gpu_vendors, or those of a test. */
int gpu_readers_start(struct gpu_readers **ret, const struct sysroot *root,
                      const struct gpu_vendor *const *vendors, bool all);

/* Accepts NULL. Waits so many milliseconds at most for the threads whose vendors have begun, and
 * leaves the others behind. */
void gpu_readers_free(struct gpu_readers *r, int wait_ms);

/* Whether the next frame is asked for already, of everyone. */
bool gpu_readers_are_asked(struct gpu_readers *r);

/* What gpu_reader_ask says, to those that were not asked yet; with 0 to all. */
void gpu_readers_ask(struct gpu_readers *r, const pid_t *pids, size_t count, uint64_t due_ns);

/* Puts what is new into the caller's frame, which is always the same; false when nothing is.
 * Devices keep their place: those of a vendor that comes later stand behind those that were there.
 */
bool gpu_readers_take(struct gpu_readers *r, struct gpu_frame *f);

/* Waits until the frames that were asked for are there, or will never be; false when that took too
 * long. is_patient: also for those that still begin. */
bool gpu_readers_wait(struct gpu_readers *r, int timeout_ms, bool is_patient);

/* The run ends: what gpu_reader_hurry says, to all. How many milliseconds more than else their
 * counters of energy may take. */
int gpu_readers_hurry(struct gpu_readers *r);

/* CPU time of the processes that vendors run in, as far as is known. */
uint64_t gpu_readers_helper_cpu_ns(const struct gpu_readers *r);

/* So many vendors are open; -EAGAIN while one still begins. */
int gpu_readers_open_count(struct gpu_readers *r);

/* Whether the frame has the devices of all vendors that are open, and none still begins. */
bool gpu_readers_are_complete(struct gpu_readers *r);

/* The next sentence for people, once each. */
bool gpu_readers_say(struct gpu_readers *r, struct gpu_trouble *ret);

/* Why nothing was found: for those who asked for GPUs. "" when there is nothing to say. */
void gpu_readers_excuse(struct gpu_readers *r, struct gpu_trouble *ret);

/* The next vendor that has begun, or read its devices, for longer than that; each once, since it
 * is told to people. NULL: none. */
const struct gpu_vendor *gpu_readers_late(struct gpu_readers *r, uint64_t longer_ns,
                                          bool *ret_is_beginning);

/* Whether that child of ours is a helper of a vendor. */
bool gpu_readers_have_child(struct gpu_readers *r, pid_t pid);

/* The threads; so many. */
size_t gpu_readers_threads(const struct gpu_readers *r, pid_t ret[GPU_READERS_MAX]);
