/* SPDX-License-Identifier: MIT
 * The end of a run: last sample, verdict on every figure. */
#pragma once

#include "engine/tracker.h"

/* From now on the figures are final. The summary is not yet written. */
void finish(struct toll_tracker *t);
