/* SPDX-License-Identifier: MIT */
#include "collect/smi_figures.h"

static void put(struct row *row, enum metric_id id, double value)
{
    const struct metric *m = metric_of(id);
    if (m->unit == UNIT_ratio && value > 1)
        return;
    if (metric_is_double(m))
        row_put_double(row, id, value);
    else if (value < 1e18)
        row_put_u64(row, id, (uint64_t)(value + 0.5));
}

void smi_figures_put(struct row *row, const struct smi_cells *heading,
                     const struct smi_cells *cells, const struct smi_figure *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double number;
        if (smi_number(cells, smi_column(heading, table[i].columns), &number))
            put(row, table[i].id, number * table[i].unit);
    }
}
