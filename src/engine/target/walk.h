/* SPDX-License-Identifier: MIT
 * One walk over the members: who did something, who is new, who has left. */
#pragma once

#include "engine/target/tracked.h"

/* ==== Walk ==================================================================================== */

void walk(struct tracked *t, uint64_t now_ns);

/* For how long stat and io of a process that runs need not be read again. */
uint64_t walk_work_holds_ns(const struct tracked *t);

/* A child of the tracker has ended and is about to be reaped: read it a last time. Returns the
 * member, NULL when it is none. */
struct member *walk_last_look(struct tracked *t, pid_t pid, uint64_t now_ns);

/* A process that is not the tracker's child has ended: read it a last time, if it is still there.
 */
void walk_end(struct tracked *t, pid_t pid, uint64_t now_ns);

/* ==== Departure =============================================================================== */

/* Members that leave, and where their figures go. */

/* Found to have ended: it takes no part any more, its leaving is booked after the walk. */
void departure_forget(struct tracked *t, struct member *m);

/* Book all that have left in this walk: a parent is asked once for all its children. */
void departure_book(struct tracked *t, uint64_t now_ns);

/* It was reaped by the tracker, which knows how it ended. */
void departure_reaped(struct tracked *t, struct member *m, const struct toll_end *end,
                      uint64_t now_ns);
