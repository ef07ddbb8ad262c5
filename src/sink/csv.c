/* SPDX-License-Identifier: MIT
 * Comma-separated values: one row a sample, a column a metric of each part, empty for unknown.
 *
 *   time,elapsed_seconds,interval_seconds,target_wall_seconds,target_cpu_seconds,…
 *   2026-11-15T21:27:53.120Z,0.010012345,0.010012345,0.010012345,0.008412,…
 *
 * Each of several targets has columns "target.NAME.cpu_seconds", a device of the machine
 * "disk.vda.read_bytes". The columns are those of the first sample: what appears later has none. */
#include "base/memory.h"
#include "metric/metric.h"
#include "sink/sink.h"

#include <string.h>

enum csv_group_of { OF_WHOLE, OF_TARGET, OF_INSTANCE, OF_SELF };

/* Columns side by side that come from one row. */
struct csv_group {
    enum csv_group_of of;
    size_t index; /* of the target; number of the instance */
    enum part part;
    uint64_t columns;
};

struct csv_table {
    struct csv_group *groups; /* owned */
    size_t count;
    bool failed;
};

/* Names come from the machine and the user: a comma or a quote in one must not make a column. */
static void csv_add_column(struct buf *b, const char *lead, const char *metric)
{
    bool quoted = strpbrk(lead, ",\"\r\n") != NULL;
    buf_puts(b, quoted ? ",\"" : ",");
    for (const char *c = lead; *c; c++) {
        if (*c == '"')
            buf_putc(b, '"');
        buf_putc(b, *c);
    }
    buf_printf(b, "%s%s", metric, quoted ? "\"" : "");
}

static void csv_add_group(struct sink *s, struct csv_group g, enum entity_kind kind,
                          const char *name)
{
    struct csv_table *t = s->state;
    if (!ARRAY_GROW(t->groups, t->count)) {
        t->failed = true;
        return;
    }
    t->groups[t->count++] = g;
    struct buf lead = {0};
    column_lead(&lead, kind, g.part, name);
    t->failed |= buf_failed(&lead);
    FOR_EACH_BIT(i, lead.data ? g.columns : 0)
    csv_add_column(&s->text, lead.data, metric_of(metric_first(kind) + i)->facts.name);
    buf_done(&lead);
}

static void csv_close(struct sink *s)
{
    struct csv_table *t = s->state;
    if (t)
        free(t->groups);
    free(t);
    s->state = NULL;
}

static void csv_heading(struct sink *s, const struct frame *f)
{
    csv_close(s);
    struct csv_table *t = s->state = calloc(1, sizeof *t);
    if (!t) {
        s->text.failed = true;
        return;
    }
    buf_puts(&s->text, "time,elapsed_seconds,interval_seconds");
    for (unsigned part = 0; part < PARTS; part++)
        if (f->target[part].row)
            csv_add_group(s, (struct csv_group){OF_WHOLE, 0, part, s->selection.parts[part]},
                          ENTITY_TARGET, NULL);
    for (size_t i = 0; i < f->target_count; i++)
        for (unsigned part = 0; part < PARTS; part++)
            if (f->targets[i].parts[part].row)
                csv_add_group(s, (struct csv_group){OF_TARGET, i, part, s->selection.parts[part]},
                              ENTITY_TARGET, f->targets[i].name);
    /* A machine has many CPUs and disks: they have columns only when they were selected by name.
     * The order is that of the table of metrics, as in the record. */
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
        /* Threads come later than the heading. */
        bool has_columns = (s->selection.by_name && kind != ENTITY_THREAD) ||
                           kind == ENTITY_SYSTEM ||
                           (kind == ENTITY_CGROUP && s->run && s->run->system);
        for (size_t i = 0; has_columns && s->selection.of[kind] && i < f->machine_count; i++) {
            const struct instance *m = f->machine[i];
            struct csv_group g = {OF_INSTANCE, m->number, 0, s->selection.of[kind]};
            if (m->entity.kind == kind)
                csv_add_group(s, g, kind, entity_name(&m->entity));
        }
    }
    csv_add_group(s, (struct csv_group){OF_SELF, 0, 0, s->selection.of[ENTITY_SELF]}, ENTITY_SELF,
                  NULL);
    buf_putc(&s->text, '\n');
    s->text.failed |= t->failed;
}

/* The row of a group in this sample, or NULL. Instances come in the same order in every sample,
 * with gaps: each search continues at *at, where the one before ended. */
static const struct row *csv_find_row(const struct frame *f, const struct csv_group *g, size_t *at)
{
    switch (g->of) {
    case OF_WHOLE: return f->target[g->part].row;
    case OF_TARGET: return f->targets[g->index].parts[g->part].row;
    case OF_SELF: return f->self.row;
    case OF_INSTANCE: break;
    }
    for (size_t tries = 0; tries < f->machine_count; tries++) {
        size_t i = (*at + tries) % f->machine_count;
        if (f->machine[i]->number == g->index) {
            *at = i + 1;
            return &f->machine[i]->row;
        }
    }
    return NULL;
}

static void csv_frame(struct sink *s, const struct frame *f)
{
    const struct csv_table *t = s->state;
    buf_utc(&s->text, f->real_ns);
    buf_putc(&s->text, ',');
    buf_seconds(&s->text, f->elapsed_ns);
    buf_putc(&s->text, ',');
    buf_seconds(&s->text, f->interval_ns);
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct row *row = csv_find_row(f, &t->groups[i], &at);
        FOR_EACH_BIT(k, t->groups[i].columns)
        {
            buf_putc(&s->text, ',');
            if (row && row->present >> k & 1)
                metric_write(&s->text, metric_of(row->first + k), row->values[k]);
        }
    }
    buf_putc(&s->text, '\n');
}

const struct sink_kind sink_csv = {
    .format = {"csv", ".csv", "a table with a row for each sample", "FILE"},
    .heading = csv_heading,
    .frame = csv_frame,
    .close = csv_close,
};
