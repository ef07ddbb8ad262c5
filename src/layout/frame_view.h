/* SPDX-License-Identifier: MIT
 * A frame, or a summary, as a source of figures for a layout. */
#pragma once

#include "layout/translation.h"
#include "metric/frame.h"
#include "summary/summary.h"

/* Borrowed for as long as the source is used. */
struct frame_view {
    const struct frame *frame;
    const struct run *run;
};

struct layout_source frame_view_source(const struct frame_view *view);
struct layout_source summary_view_source(const struct summary *summary);
