/* SPDX-License-Identifier: MIT
 * The rules by which a process belongs to a target without being anybody's child. */
#pragma once

#include "engine/tracker.h"

/* Bits of the groups, sessions, users and cgroups a process is in. dear: users too, which takes a
 * file more; otherwise those of rules_that_cost are not answered. present: the bits it has, which
 * it keeps where its user cannot be read. */
uint64_t rules_of(struct toll_tracker *t, const struct process *p, uint64_t present, bool dear);
uint64_t rules_that_cost(const struct toll_tracker *t);

/* Bits of the regular expressions that match its command line, now. */
uint64_t rules_matching(struct toll_tracker *t, pid_t pid);

/* Ask the cgroups who is in them; meet is called with each. */
void rules_ask_cgroups(struct toll_tracker *t, void (*meet)(void *tracker, pid_t pid));
