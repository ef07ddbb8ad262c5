/* SPDX-License-Identifier: MIT
 * Members that leave, and where their figures go. */
#pragma once

#include "engine/tracker.h"

/* Found to have ended: it takes no part any more, its leaving is booked after the walk. */
void departure_forget(struct toll_tracker *t, struct member *m);

/* Book all that have left in this walk: a parent is asked once for all its children. */
void departure_book(struct toll_tracker *t, uint64_t now_ns);

/* It was reaped by the tracker, which was told how it ended. */
void departure_reaped(struct toll_tracker *t, struct member *m, const struct toll_end *end,
                      uint64_t now_ns);
