/* SPDX-License-Identifier: MIT */
#include "metric/frame.h"

void row_init(struct row *r, enum entity_kind kind)
{
    r->present = 0;
    r->first = metric_first(kind);
}

void frame_begin(struct frame *f)
{
    arena_empty(&f->arena);
    f->processes = NULL;
    f->process_count = 0;
    f->last = false;
}

void frame_done(struct frame *f)
{
    arena_done(&f->arena);
}
