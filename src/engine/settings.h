/* SPDX-License-Identifier: MIT
 * What the caller asked for: checked, and copied so that nothing of the caller's is needed later.
 */
#pragma once

#include "engine/target/tracked.h"

struct toll_tracker;

/* ==== Settings ================================================================================ */

/* A copy of the options in which what was left open is filled in. 0, or -EINVAL and a sentence. */
int settings_check(struct toll_options *ret, const struct toll_options *asked,
                   struct toll_error *e);

/* Takes t->options over: which metrics are wanted, names and labels of the run, and the machine it
 * is on. 0 or -errno and a sentence. */
int settings_take(struct toll_tracker *t, struct toll_error *e);

/* ==== Asked =================================================================================== */

/* A target in the words of its user: what was asked for, by what name it goes, what to say when
 * there is nothing of the kind. */

/* Checks what was asked for and gives it a name. */
int asked_take(struct tracked *t, struct target *g, const struct toll_target *asked,
               struct toll_error *e);

/* -ESRCH and a sentence: no process is there. */
int asked_nobody(const struct tracked *t, const struct target *g, struct toll_error *e);

/* For people: "process 1234 (make) and its descendants". */
void asked_describe(struct tracked *t, const struct target *g, struct buf *b);

/* The end of a process that is not a child, as far as the kernel reports it. */
void asked_how_it_ended(struct target *g);
