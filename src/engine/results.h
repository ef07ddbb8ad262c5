/* SPDX-License-Identifier: MIT
 * The results of a run as it is now, for whoever has the tracker's lock. */
#pragma once

#include "base/buf.h"
#include "toll.h"

/* A summary in the format and the dialect of an output. 0, or -errno and a sentence. */
int results_write(struct toll_tracker *t, const struct toll_output *like, struct buf *ret,
                  struct toll_error *e);
