/* SPDX-License-Identifier: MIT
 * A frame as programs get it: a copy in one piece that outlives the tracker. */
#pragma once

#include "metric/frame.h"
#include "metric/metric.h"

#include <stdatomic.h>

struct frame_copy_row {
    struct toll_row facts;
    enum entity_kind kind;
    enum part part;
    enum space_kind space;        /* of a mount */
    const char *target;           /* the name of one of several targets, or NULL */
    const struct metric *metrics; /* that such a row can have, */
    unsigned count;               /* so many */
    uint64_t known;               /* bit i: values[i] was read, and selected */
    uint64_t at_least;            /* bit i: values[i] is a lower bound, unknown to programs */
    const union value *values;    /* as they were read: who asks for one pays for its number */
};

struct frame_copy {
    struct toll_frame head;
    atomic_uint holders;
    struct frame_copy_row *rows;
};

/* A copy with what was selected, held once; NULL when there is no memory. */
struct frame_copy *frame_copy_new(const struct frame *f, const struct selection *selection);

/* The same of a frame that has nothing but the whole of one target, of which something was
 * selected: without measuring what there is. */
struct frame_copy *frame_copy_new_whole(const struct frame *f, const struct selection *selection);

/* The i-th figure of a row, or NAN when it is not known. */
double frame_copy_number(const struct frame_copy_row *r, size_t i);

/* Hold it once more. */
struct frame_copy *frame_copy_hold(struct frame_copy *frame);

/* Let go of it: the last holder frees it. Accepts NULL. */
void frame_copy_release(struct frame_copy *frame);
