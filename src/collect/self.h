/* SPDX-License-Identifier: MIT
 * What measuring itself costs. */
#pragma once

#include "base/sysroot.h"
#include "metric/frame.h"

/* CPU time as given, and the memory of the calling process; nothing of a replay, where the cost
 * means nothing. */
void self_collect(const struct sysroot *root, uint64_t cpu_ns, struct row *row, bool with_memory);
