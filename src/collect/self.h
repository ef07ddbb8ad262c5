/* SPDX-License-Identifier: MIT
 * What measuring itself costs. */
#pragma once

#include "base/sysroot.h"
#include "metric/frame.h"

struct self_source {
    int statm; /* kept descriptor, -1 when not open */
    bool live;
};

void self_open(struct self_source *s, const struct sysroot *root);
void self_close(struct self_source *s);

/* CPU and memory of the calling process. refresh: the memory too. */
void self_collect(struct self_source *s, struct row *row, bool refresh);
