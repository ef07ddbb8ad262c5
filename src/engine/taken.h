/* SPDX-License-Identifier: MIT
 * A frame as programs get it: a copy in one piece that outlives the tracker. */
#pragma once

#include "metric/frame.h"
#include "metric/selection.h"

#include <stdatomic.h>

struct taken_row {
    struct toll_row facts;
    enum entity_kind kind;
    enum part part;
    const char *target;   /* the name of one of several targets, or NULL */
    const double *values; /* of its metrics, NAN where unknown */
};

struct taken {
    struct toll_frame head;
    atomic_uint holders;
    struct taken_row *rows;
};

/* A copy with what was selected, held once; NULL when there is no memory. */
struct taken *taken_copy(const struct frame *f, const struct selection *selection);

/* Hold it once more. */
struct taken *taken_hold(struct taken *frame);

/* Let go of it: the last holder frees it. Accepts NULL. */
void taken_release(struct taken *frame);
