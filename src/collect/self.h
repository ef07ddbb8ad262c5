/* SPDX-License-Identifier: MIT
 * What measuring itself costs. */
#pragma once

#include "base/sysroot.h"
#include "metric/frame.h"

/* CPU and memory of the calling process; nothing of a replay, where the cost means nothing.
 * refresh: the memory too. */
void self_collect(const struct sysroot *root, struct row *row, bool refresh);
