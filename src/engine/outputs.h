/* SPDX-License-Identifier: MIT
 * Handing things to every output. One that fails never disturbs another, nor the run. */
#pragma once

#include "engine/tracker.h"

/* ==== Outputs ================================================================================= */

/* What the outputs have to say to a command that is about to start. */
void outputs_environment(struct toll_tracker *t, struct environment *e);

void outputs_begin(struct toll_tracker *t);
void outputs_frame(struct toll_tracker *t);
void outputs_process_end(struct toll_tracker *t, const struct process_end *e);

void outputs_mark(struct toll_tracker *t, const struct told_mark *m);

/* 0, or the first failure. Waits for disks and servers: without the lock of a tracker in the
 * background. */
int outputs_summary(struct toll_tracker *t);
void outputs_close(struct toll_tracker *t, bool discard);

/* Tell something that is not as it should be: once to the caller and the record, again in the
 * summary. */
void outputs_note(struct toll_tracker *t, const char *format, ...) PRINTF_LIKE(2, 3);

/* ==== Outputs open ============================================================================ */

/* One more place to write to, before the start. */

/* A path that ends with a slash is a directory, for a layout that has several files. */
int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e);

/* Whether an output is such a directory, and one output for each file of the layout in it, which
 * is made when it is not there. Stops when add() fails. */
bool outputs_is_directory(const struct toll_output *o);
int outputs_each_file(const struct toll_output *o,
                      int (*add)(void *arg, const struct toll_output *one, struct toll_error *e),
                      void *arg, struct toll_error *e);
