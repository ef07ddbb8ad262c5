/* SPDX-License-Identifier: MIT
 * What is measured: made from what was asked for, and looked after until it ends. */
#pragma once

#include "engine/step.h"
#include "engine/target/tracked.h"

/* The command that is started, or recorded, as the one target. 0 or -ENOMEM. */
int targets_set_launched(struct tracked *t, struct summary *s);

/* One more of those that run already. -EINVAL, -ESRCH or -ENOMEM and a sentence. */
int targets_add(struct tracked *t, const struct toll_target *asked, struct toll_error *e);

/* They are complete: books for each and for all together. 0 or -ENOMEM. */
int targets_open_books(struct tracked *t, struct summary *s);

/* As they were before their books were opened. */
void targets_reset(struct tracked *t, struct summary *s);

void targets_done(struct tracked *t);

/* The first members of those that are known by pid. */
void targets_add_roots(struct tracked *t);

/* A target without any process is a mistake: -ESRCH and a sentence. */
int targets_check(struct tracked *t, struct toll_error *e);

/* Watch for the end of each by a descriptor that reports it at once; where the kernel has none, the
 * walk finds out. */
void targets_watch(struct tracked *t, const struct wakeup *w);

/* Reads those that are watched and have ended now, not when the next sample is due. */
void targets_notice_ends(struct tracked *t, uint64_t now_ns);

/* Notes those that have ended and watches the others. True when all have ended. has_walked: since
 * the call before. ret_needs_walk: the last known member of one has ended, and it may have left
 * others that were not seen. */
bool targets_check_ends(struct tracked *t, const struct wakeup *w, bool has_walked, uint64_t now_ns,
                        bool *ret_needs_walk);

/* When the last of them ended, or now. */
uint64_t targets_end(const struct tracked *t, uint64_t now_ns);

/* Whether a target is divided into a main process and its descendants. */
bool target_has_parts(const struct tracked *t, const struct target *g);

/* Where its statistics are. */
struct target_summary *target_summary_of(struct summary *s, const struct tracked *t,
                                         const struct target *g);

/* The first member of a target that is there and was seen, or NULL. */
struct member *targets_any_member(const struct tracked *t, const struct target *g);
