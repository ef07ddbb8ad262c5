/* SPDX-License-Identifier: MIT
 * What measuring itself costs. */
#pragma once

#include "base/sysroot.h"
#include "metric/frame.h"

/* CPU and memory of the calling process; nothing of a replay, where the cost means nothing.
 * cpu_base_ns: what the process had used before, in another program or before it measured.
 * refresh: the memory too. */
void self_collect(const struct sysroot *root, uint64_t cpu_base_ns, struct row *row, bool refresh);
