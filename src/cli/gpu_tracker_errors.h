/* SPDX-License-Identifier: MIT
 * Sentences of gpu-tracker. Each of those that say that something is wrong returns the exit status.
 */
#pragma once

#include "cli/gpu_tracker_command.h"
#include "cli/session.h"

enum { EXIT_WRONG = 1 };

int gpu_tracker_say(const char *sentence);
int gpu_tracker_raise(const struct toll_error *e);

/* As it is: no error of that tool. */
void gpu_tracker_note(const char *sentence);

/* Why the command does not run. */
int gpu_tracker_not_started(const struct gpu_tracker *g, const char *command,
                            const struct outcome *outcome);

/* For notes. */
void gpu_tracker_warn(void *arg, const char *sentence);
