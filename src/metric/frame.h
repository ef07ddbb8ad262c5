/* SPDX-License-Identifier: MIT
 * A row is one entity's values with a bit for each that says whether it is known; a frame is all
 * rows of one tick. */
#pragma once

#include "base/arena.h"
#include "metric/entity.h"

struct row {
    uint64_t present; /* bit i: values[i] is known */
    enum metric_id first;
    union value values[PROCESS_METRICS > SELF_METRICS ? PROCESS_METRICS : SELF_METRICS];
};

void row_init(struct row *r, enum entity_kind kind);

static inline bool row_has(const struct row *r, enum metric_id id)
{
    return r->present >> (id - r->first) & 1;
}

static inline void row_put_u64(struct row *r, enum metric_id id, uint64_t value)
{
    r->values[id - r->first].u = value;
    r->present |= BIT(id - r->first);
}

static inline void row_put_double(struct row *r, enum metric_id id, double value)
{
    r->values[id - r->first].d = value;
    r->present |= BIT(id - r->first);
}

static inline void row_unknown(struct row *r, enum metric_id id)
{
    r->present &= ~BIT(id - r->first);
}

/* 0 when unknown: for sums, never for output. */
static inline uint64_t row_u64(const struct row *r, enum metric_id id)
{
    return row_has(r, id) ? r->values[id - r->first].u : 0;
}

static inline union value row_value(const struct row *r, enum metric_id id)
{
    return r->values[id - r->first];
}

struct frame_row {
    const struct entity *entity; /* borrowed until the next tick */
    const struct row *row;       /* borrowed until the next tick */
};

struct frame {
    uint64_t tick;    /* counts from 0 */
    uint64_t mono_ns; /* when it was taken */
    uint64_t real_ns;
    uint64_t elapsed_ns;  /* since the start of the run */
    uint64_t interval_ns; /* since the frame before, really */
    bool last;
    struct frame_row target[PARTS]; /* row NULL: this part does not exist */
    struct frame_row self;
    struct frame_row *processes; /* from the arena; those the plan asked for */
    size_t process_count;
    struct arena arena; /* emptied each tick */
};

void frame_begin(struct frame *f);
void frame_done(struct frame *f);
