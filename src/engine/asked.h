/* SPDX-License-Identifier: MIT
 * A target in the words of its user: what was asked for, by what name it goes, what to say when
 * there is nothing of the kind. */
#pragma once

#include "engine/tracker.h"

/* Checks what was asked for and gives it a name. */
int asked_take(struct toll_tracker *t, struct target *g, const struct toll_target *asked,
               struct toll_error *e);

/* -ESRCH and a sentence: no process is there. */
int asked_nobody(const struct toll_tracker *t, const struct target *g, struct toll_error *e);

/* For people: "process 1234 (make) and its descendants". */
void asked_describe(struct toll_tracker *t, const struct target *g, struct buf *b);

/* The status of a process that was reaped, by whomever, as wait has it. False when the kernel does
 * not tell. */
bool asked_exit_status(int pidfd, int *ret_status);

/* The end of a process that somebody else waits for, as far as the kernel tells. */
void asked_how_it_ended(struct target *g);
