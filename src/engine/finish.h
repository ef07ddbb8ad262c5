/* SPDX-License-Identifier: MIT
 * The end of a run: last sample, quality of every figure. */
#pragma once

#include "summary/summary.h"

struct toll_tracker;

/* ==== Finish ================================================================================== */

/* From now on the figures are final. The summary is not yet written. */
void finish(struct toll_tracker *t);

/* ==== Quality ================================================================================= */

/* What every figure of the targets is worth, judged when the run is over or when the program asks.
 */

/* More than these cannot have been in use at any moment; 0: not known. */
double quality_most_cores(const struct run *run);

/* Into the tracker's own summary when the run is over, into a copy of it before: what is settled by
 * the end must not be judged by what was known in between. */
void quality_judge_all(struct toll_tracker *t, struct summary *summary);
