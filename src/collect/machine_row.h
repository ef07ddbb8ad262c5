/* SPDX-License-Identifier: MIT
 * How collectors of the machine write into the row they share. */
#pragma once

#include "collect/collector.h"

/* A counter that the kernel may set back a little: the most that was seen stays, also when a
 * reading in between failed. */
static inline void row_put_held(struct row *r, enum metric_id id, uint64_t value)
{
    row_put_u64(r, id, max_u64(value, r->values[id - r->first].u));
}

/* The same in a smaller unit; left out when the figure does not fit any more. */
static inline void row_put_held_scaled(struct row *r, enum metric_id id, uint64_t value,
                                       uint64_t unit)
{
    uint64_t scaled;
    if (__builtin_mul_overflow(value, unit, &scaled))
        row_unknown(r, id);
    else
        row_put_held(r, id, scaled);
}

/* What a collector gave before is unknown until it is read again. */
static inline void row_forget(struct row *r, uint64_t bits)
{
    r->present &= ~bits;
}
