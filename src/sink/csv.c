/* SPDX-License-Identifier: MIT
 * Comma-separated values: one row a sample, a column a metric of each part, empty for unknown.
 *
 *   time,elapsed_seconds,interval_seconds,target_wall_seconds,target_cpu_seconds,…
 *   2026-11-15T21:27:53.120Z,0.010012345,0.010012345,0.010012345,0.008412,…
 */
#include "sink/sinks.h"

static void add_names(struct sink *s, const char *prefix, enum entity_kind kind, uint64_t columns)
{
    FOR_EACH_BIT(i, columns)
    buf_printf(&s->text, ",%s_%s", prefix, metric_of(metric_first(kind) + i)->facts.name);
}

static void csv_begin(struct sink *s, const struct run *run)
{
    buf_puts(&s->text, "time,elapsed_seconds,interval_seconds");
    for (unsigned part = 0; part < (run->no_children ? PART_MAIN : PARTS); part++)
        add_names(s, part_prefix(part), ENTITY_TARGET, s->selection.parts[part]);
    add_names(s, "self", ENTITY_SELF, s->selection.of[ENTITY_SELF]);
    buf_putc(&s->text, '\n');
}

static void add_values(struct sink *s, const struct row *row, uint64_t columns)
{
    FOR_EACH_BIT(i, columns)
    {
        enum metric_id id = row->first + i;
        buf_putc(&s->text, ',');
        if (row_has(row, id))
            metric_write(&s->text, metric_of(id), row_value(row, id));
    }
}

static void csv_frame(struct sink *s, const struct frame *f)
{
    buf_utc(&s->text, f->real_ns);
    buf_putc(&s->text, ',');
    buf_seconds(&s->text, f->elapsed_ns);
    buf_putc(&s->text, ',');
    buf_seconds(&s->text, f->interval_ns);
    for (unsigned part = 0; part < PARTS; part++)
        if (f->target[part].row)
            add_values(s, f->target[part].row, s->selection.parts[part]);
    add_values(s, f->self.row, s->selection.of[ENTITY_SELF]);
    buf_putc(&s->text, '\n');
}

const struct sink_kind sink_csv = {
    .format = {"csv", ".csv", "a table with a row for each sample"},
    .begin = csv_begin,
    .frame = csv_frame,
};
