/* SPDX-License-Identifier: MIT
 * The results of a run as it is now, for callers that hold the tracker's lock. */
#pragma once

#include "base/text/buf.h"
#include "engine/tracker.h"
#include "toll_compat.h"

/* ==== Results ================================================================================= */

/* A summary in the format and the layout of an output. 0, or -errno and a sentence. */
int results_write(struct toll_tracker *t, const struct toll_output *like, struct buf *ret,
                  struct toll_error *e);

/* What most programs want to know of a run that is judged. */
struct toll_summary results_summarize(const struct summary *s);

/* ==== Lifetime ================================================================================ */

/* How a tracker comes to be, is finished, and goes. */

/* As toll_tracker_new and toll_tracker_finish say. */
int lifetime_new(struct toll_tracker **ret, const struct toll_options *options,
                 struct toll_error *e);
int lifetime_finish(struct toll_tracker *t);

/* 0, or -ESRCH and a sentence in a fork. */
int lifetime_check_owner(const struct toll_tracker *t, struct toll_error *e);

/* Closes and frees everything but the tracker itself. */
void lifetime_close(struct toll_tracker *t);
