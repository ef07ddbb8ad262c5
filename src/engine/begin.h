/* SPDX-License-Identifier: MIT
 * The three ways a run begins. A tracker is for one of them, once. Each returns 0, or -errno and a
 * sentence. */
#pragma once

#include "toll.h"

/* ==== Begin =================================================================================== */

/* Starts the command; all that can fail is done before. */
int begin_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *request,
                 struct toll_error *e);

/* Measures what is there already: the targets that were added, or the machine alone. */
int begin_attach(struct toll_tracker *t, struct toll_error *e);

/* Measures a recorded run. */
int begin_replay(struct toll_tracker *t, const char *directory, struct toll_error *e);

/* ==== Attach ================================================================================== */

/* The beginning of a run that measures what is there already. */

/* Finds the members and takes what they have used so far as the base. -ESRCH and a sentence when a
 * target has none. */
int attach(struct toll_tracker *t, struct toll_error *e);
