/* SPDX-License-Identifier: MIT
 * What is measured: made from what was asked for, and looked after until it ends. */
#pragma once

#include "engine/tracker.h"

/* The command that is started, or recorded, as the one target. 0 or -ENOMEM. */
int targets_set_launched(struct toll_tracker *t);

/* One more of those that run already. -EINVAL, -ESRCH or -ENOMEM and a sentence. */
int targets_add(struct toll_tracker *t, const struct toll_target *asked, struct toll_error *e);

/* They are complete: books for each and for all together. 0 or -ENOMEM. */
int targets_open_books(struct toll_tracker *t);

/* As they were before their books were opened. */
void targets_reset(struct toll_tracker *t);

void targets_done(struct toll_tracker *t);

/* The first members of those that are known by pid. */
void targets_add_roots(struct toll_tracker *t);

/* A target without any process is a mistake: -ESRCH and a sentence. */
int targets_check(struct toll_tracker *t, struct toll_error *e);

/* Watch for the end of each by a descriptor that tells at once; where the kernel has none, the walk
 * finds out. */
void targets_watch(struct toll_tracker *t);

/* Note those that have ended. True when none is left. */
bool targets_have_ended(struct toll_tracker *t);

/* When the last of them ended, or now. */
uint64_t targets_end(const struct toll_tracker *t, uint64_t now_ns);

/* Whether a target is told apart into a main process and its descendants. */
bool target_has_parts(const struct toll_tracker *t, const struct target *g);

/* Where its statistics are. */
struct target_summary *target_summary_of(struct toll_tracker *t, const struct target *g);

/* The first member of a target that is there and was seen, or NULL. */
struct member *targets_any_member(const struct toll_tracker *t, const struct target *g);
