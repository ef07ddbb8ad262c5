/* SPDX-License-Identifier: MIT
 * What the caller asked for: checked, and copied so that nothing of the caller's is needed later.
 */
#pragma once

#include "engine/tracker.h"

/* A copy of the options in which what was left open is filled in. 0, or -EINVAL and a sentence. */
int settings_check(struct toll_options *ret, const struct toll_options *asked,
                   struct toll_error *e);

/* Takes t->options over: which metrics are wanted, names and labels of the run, and the machine it
 * is on. 0 or -errno and a sentence. */
int settings_take(struct toll_tracker *t, struct toll_error *e);
