/* SPDX-License-Identifier: MIT
 * Counters to rates. A mean over the run is total over time; these are the steps in between. */
#pragma once

#include "account/members.h"

struct rates {
    uint64_t cpu_ns[PARTS];
    uint64_t since_ns[PARTS]; /* when that was known, which need not be the frame before */
};

/* Put cpu_cores into the rows of the parts, from what cpu_seconds grew since it was last known. */
void rates_of_parts(struct rates *r, struct row parts[PARTS], uint64_t interval_ns);

/* The same for one process, since the last time it was asked for. */
void rates_of_member(struct member *m, uint64_t now_ns);
