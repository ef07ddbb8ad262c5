/* SPDX-License-Identifier: MIT
 * Reads the GPUs of all vendors. Each vendor has a thread of its own, since a driver may take
 * seconds to begin and may hang: that costs the figures of its own devices alone.
 *
 * The caller asks for a frame by the time of the next sample, and takes the newest there is:
 * neither call waits. */
#pragma once

#include "source/gpu/vendor.h"

enum { GPU_READERS_MAX = 4 };

struct gpu_readers;

/* all: start a reader for every vendor, not only for those whose devices are likely. vendors is
 * gpu_vendors, or the list of a test. -ENODEV when no vendor is likely, other errors when a thread
 * cannot be started. */
int gpu_readers_start(struct gpu_readers **ret, const struct sysroot *root,
                      const struct gpu_vendor *const *vendors, bool all);

/* Accepts NULL. Waits wait_ms at most for threads whose vendor has begun. A thread that hangs goes
 * on alone and frees what it owns when it returns. */
void gpu_readers_free(struct gpu_readers *r, int wait_ms);

/* Whether every reader has been asked for its next frame already. */
bool gpu_readers_are_asked(struct gpu_readers *r);

/* Asks the readers that were not asked yet for a frame by due_ns; with 0, asks all for one at once.
 * A frame begins no sooner than a tenth of a second after the one before, and later where reading
 * takes much CPU time. pids: the processes of interest, sorted. */
void gpu_readers_ask(struct gpu_readers *r, const pid_t *pids, size_t count, uint64_t due_ns);

/* Copies what is new into the caller's frame, which has to be the same one each time; false when
 * nothing is new. Devices keep their place: those of a vendor that begins late are added at the
 * end. A device of which only the energy is known yet has read_ns 0. */
bool gpu_readers_take(struct gpu_readers *r, struct gpu_frame *f);

/* Waits until the frames that were asked for are ready, or will never be; false when that takes
 * longer than timeout_ms. is_patient: wait for vendors that have not begun yet, too. */
bool gpu_readers_wait(struct gpu_readers *r, int timeout_ms, bool is_patient);

/* At the end of a run: vendors that take long to read need only deliver their energy counters.
 * Returns how many more milliseconds to wait for these. */
int gpu_readers_hurry(struct gpu_readers *r);

/* CPU time of helper processes, as far as it is known. */
uint64_t gpu_readers_helper_cpu_ns(const struct gpu_readers *r);

/* The number of vendors that are open; -EAGAIN while one has not begun yet. */
int gpu_readers_open_count(struct gpu_readers *r);

/* Whether the frame has the devices of all vendors. */
bool gpu_readers_are_complete(struct gpu_readers *r);

/* The next message for people, each once; false when there is none. */
bool gpu_readers_say(struct gpu_readers *r, struct gpu_trouble *ret);

/* Why no GPU was found, for a user who asked for GPUs; "" when there is no known reason. */
void gpu_readers_excuse(struct gpu_readers *r, struct gpu_trouble *ret);

/* The next vendor that has been beginning or reading for longer than longer_ns, each once; NULL
 * when there is none. */
const struct gpu_vendor *gpu_readers_late(struct gpu_readers *r, uint64_t longer_ns,
                                          bool *ret_is_beginning);

/* Whether that child of this process is a vendor's helper process. */
bool gpu_readers_have_child(struct gpu_readers *r, pid_t pid);

/* Writes the ids of the threads and returns their number. */
size_t gpu_readers_threads(const struct gpu_readers *r, pid_t ret[GPU_READERS_MAX]);

/* ==== Helper process ========================================================================== */

/* A vendor in a helper process. The library of a driver may hang, crash, or print: there it does so
 * harmlessly, with /dev/null for its output, and ends when the socket between the two processes is
 * closed.
 * The thread that reads the vendor's GPUs calls gpu_helper_open and gpu_helper_read in place of the
 * vendor's own functions; each blocks for as long as the driver takes.
 * The helper is a program of its own, toll-gpu, where the library is a shared object and has that
 * program beside it. Otherwise it is a copy of the program that the library is part of, and shares
 * memory with it. */

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
