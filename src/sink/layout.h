/* SPDX-License-Identifier: MIT
 * Formats in a layout: the same files with another tool's columns. */
#pragma once

#include "layout/translation.h"
#include "sink/sink.h"

#include <math.h>

/* The kind that writes a format in a layout, or -EINVAL and a sentence. */
int sink_choose_layout(const struct sink_kind *kind, const struct layout_choice *choice,
                       const struct sink_kind **ret, struct toll_error *e);

/* The table for what is measured, once that is known. NULL when the layout has none for it. */
struct translation *layout_sink_translation(struct sink *s, bool has_target);

static inline bool layout_cell_is_known(const struct layout_cell *cell)
{
    return cell->text || !isnan(cell->number);
}

void layout_sink_json_cell(struct sink *s, struct json_out *j, const struct layout_column *c,
                           const struct layout_cell *cell);

/* A line of a log, where the table is one. */
void layout_log_mark(struct sink *s, const struct told_mark *m);

/* The summary as a JSON document, and as text. */
void layout_document_json(struct sink *s, const struct summary *summary);
void layout_document_text(struct sink *s, const struct summary *summary);
