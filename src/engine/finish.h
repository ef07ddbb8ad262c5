/* SPDX-License-Identifier: MIT
 * The end of a run: last sample, verdict on every figure, summary. */
#pragma once

#include "engine/tracker.h"

/* 0, or the first failure of an output. */
int finish(struct toll_tracker *t);
