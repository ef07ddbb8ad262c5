/* SPDX-License-Identifier: MIT
 * Handing things to every output. One that fails never disturbs another, nor the run. */
#pragma once

#include "engine/environment.h"
#include "engine/tracker.h"

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
