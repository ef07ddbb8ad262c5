/* SPDX-License-Identifier: MIT
 * What a process took over from children it reaped: the conserved metrics alone, a quarter of a
 * row. There is one for each process. */
#pragma once

#include "metric/frame.h"

enum { INHERITED_METRICS = 12 }; /* those with the fold CONSERVED */

struct inherited {
    uint64_t present; /* bits as in the row of a process */
    uint64_t values[INHERITED_METRICS];
};

/* id is a conserved metric of a process. */
void inherited_put(struct inherited *i, enum metric_id id, uint64_t value);

/* 0 when unknown. */
uint64_t inherited_u64(const struct inherited *i, enum metric_id id);

static inline bool inherited_has(const struct inherited *i, enum metric_id id)
{
    return i->present >> id & 1;
}

/* sum += i, a row of a process. */
void inherited_add(struct row *sum, const struct inherited *i);
