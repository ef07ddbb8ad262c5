/* SPDX-License-Identifier: MIT
 * Figures of a GPU out of a line of a table that a command printed. */
#pragma once

#include "metric/frame.h"
#include "parse/smi_table.h"

struct smi_figure {
    const char *columns; /* names, with | between */
    enum metric_id id;
    double unit; /* of the number, in what the metric is held in */
};

/* What is no number, or cannot be true, stays unknown. */
void smi_figures_put(struct row *row, const struct smi_cells *heading,
                     const struct smi_cells *cells, const struct smi_figure *table, size_t count);
