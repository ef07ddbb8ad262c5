/* SPDX-License-Identifier: MIT
 * Comma-separated values: one row a sample, a column a metric of each part, empty for unknown.
 *
 *   time,elapsed_seconds,interval_seconds,target_wall_seconds,target_cpu_seconds,…
 *   2026-11-15T21:27:53.120Z,0.010012345,0.010012345,0.010012345,0.008412,…
 *
 * Each of several targets has columns "target.NAME.cpu_seconds", a thing of the machine
 * "disk.vda.read_bytes". The columns are those of the first sample: what comes later has none. */
#include "base/memory.h"
#include "metric/metric.h"
#include "sink/open.h"

#include <string.h>

enum group_of { OF_WHOLE, OF_TARGET, OF_INSTANCE, OF_SELF };

/* Columns side by side that come from one row. */
struct group {
    enum group_of of;
    size_t index; /* of the target; number of the thing */
    enum part part;
    uint64_t columns;
};

struct table {
    struct group *groups; /* owned */
    size_t count;
    bool failed;
};

/* ---- The heading ----------------------------------------------------------------------------- */

/* Names come from outside: a comma or a quote must not make a column. */
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

static void csv_add_group(struct sink *s, struct group g, enum entity_kind kind, const char *name)
{
    struct table *t = s->state;
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

static void csv_add_targets(struct sink *s, const struct frame *f)
{
    for (size_t i = 0; i < f->target_count; i++)
        for (unsigned part = 0; part < PARTS; part++) {
            if (!f->targets[i].parts[part].row)
                continue;
            struct group g = {OF_TARGET, i, part, s->selection.parts[part]};
            csv_add_group(s, g, ENTITY_TARGET, f->targets[i].name);
        }
}

/* A machine has many CPUs and disks: they have columns when they were asked for by name. */
static bool has_columns(const struct sink *s, enum entity_kind kind)
{
    return s->selection.by_name || kind == ENTITY_SYSTEM ||
           (kind == ENTITY_CGROUP && s->run && s->run->system);
}

/* In the order of the table of metrics, as in the record. */
static void csv_add_instances(struct sink *s, const struct frame *f, enum entity_kind kind)
{
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct instance *m = f->machine[i];
        if (m->entity.kind != kind || !has_columns(s, kind) || !s->selection.of[kind])
            continue;
        struct group g = {OF_INSTANCE, m->number, 0, s->selection.of[kind]};
        csv_add_group(s, g, kind, entity_name(&m->entity));
    }
}

static void csv_close(struct sink *s)
{
    struct table *t = s->state;
    if (t)
        free(t->groups);
    free(t);
    s->state = NULL;
}

static void csv_heading(struct sink *s, const struct frame *f)
{
    csv_close(s);
    struct table *t = s->state = calloc(1, sizeof *t);
    if (!t) {
        s->text.failed = true;
        return;
    }
    buf_puts(&s->text, "time,elapsed_seconds,interval_seconds");
    for (unsigned part = 0; part < PARTS; part++)
        if (f->target[part].row)
            csv_add_group(s, (struct group){OF_WHOLE, 0, part, s->selection.parts[part]},
                          ENTITY_TARGET, NULL);
    csv_add_targets(s, f);
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        csv_add_instances(s, f, kind);
    csv_add_group(s, (struct group){OF_SELF, 0, 0, s->selection.of[ENTITY_SELF]}, ENTITY_SELF,
                  NULL);
    buf_putc(&s->text, '\n');
    s->text.failed |= t->failed;
}

/* ---- The rows -------------------------------------------------------------------------------- */

/* Things come in the same order in every sample, with gaps: the search goes on where the one before
 * ended. */
static const struct row *csv_find_instance(const struct frame *f, size_t number, size_t *at)
{
    for (size_t tries = 0; tries < f->machine_count; tries++) {
        size_t i = (*at + tries) % f->machine_count;
        if (f->machine[i]->number == number) {
            *at = i + 1;
            return &f->machine[i]->row;
        }
    }
    return NULL;
}

static const struct row *csv_find_row(const struct frame *f, const struct group *g, size_t *at)
{
    switch (g->of) {
    case OF_WHOLE: return f->target[g->part].row;
    case OF_TARGET: return f->targets[g->index].parts[g->part].row;
    case OF_INSTANCE: return csv_find_instance(f, g->index, at);
    case OF_SELF: return f->self.row;
    }
    return NULL;
}

static void csv_add_values(struct sink *s, const struct row *row, uint64_t columns)
{
    FOR_EACH_BIT(i, columns)
    {
        buf_putc(&s->text, ',');
        if (row && row->present >> i & 1)
            metric_write(&s->text, metric_of(row->first + i), row->values[i]);
    }
}

static void csv_frame(struct sink *s, const struct frame *f)
{
    const struct table *t = s->state;
    buf_utc(&s->text, f->real_ns);
    buf_putc(&s->text, ',');
    buf_seconds(&s->text, f->elapsed_ns);
    buf_putc(&s->text, ',');
    buf_seconds(&s->text, f->interval_ns);
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++)
        csv_add_values(s, csv_find_row(f, &t->groups[i], &at), t->groups[i].columns);
    buf_putc(&s->text, '\n');
}

const struct sink_kind sink_csv = {
    .format = {"csv", ".csv", "a table with a row for each sample", "FILE"},
    .heading = csv_heading,
    .frame = csv_frame,
    .close = csv_close,
};
