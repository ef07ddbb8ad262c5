/* SPDX-License-Identifier: MIT */
#include "sink/exposition.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static void exposition_add_escaped(struct buf *b, const char *text, bool quoted)
{
    for (; *text; text++) {
        if (*text == '\\' || (*text == '"' && quoted))
            buf_putc(b, '\\');
        if (*text == '\n')
            buf_puts(b, "\\n");
        else
            buf_putc(b, *text);
    }
}

/* In the older format a counter's family is called like its samples. */
static void exposition_add_comment(struct buf *b, const char *what, enum entity_kind kind,
                                   const struct metric *m, enum exposition_flavour flavour)
{
    buf_printf(b, "# %s ", what);
    points_name(b, kind, m);
    if (m->kind == METRIC_COUNTER && flavour == EXPOSITION_TEXT)
        buf_puts(b, "_total");
    buf_putc(b, ' ');
}

void exposition_family(struct buf *b, enum entity_kind kind, const struct metric *m,
                       enum exposition_flavour flavour)
{
    exposition_add_comment(b, "TYPE", kind, m, flavour);
    buf_printf(b, "%s\n", m->facts.kind);
    if (*m->facts.unit && ends_with(m->facts.name, m->facts.unit) &&
        flavour == EXPOSITION_OPENMETRICS) {
        exposition_add_comment(b, "UNIT", kind, m, flavour);
        buf_printf(b, "%s\n", m->facts.unit);
    }
    exposition_add_comment(b, "HELP", kind, m, flavour);
    exposition_add_escaped(b, m->facts.help, flavour == EXPOSITION_OPENMETRICS);
    buf_putc(b, '\n');
}

static void exposition_add_labels(struct buf *b, const struct labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        buf_printf(b, "%s%s=\"", i ? "," : "{", l->items[i].name);
        exposition_add_escaped(b, l->items[i].value, true);
        buf_putc(b, '"');
    }
    buf_puts(b, l->count ? "} " : " ");
}

void exposition_series(struct buf *b, const struct point_row *row, const struct metric *m)
{
    points_name(b, row->kind, m);
    if (m->kind == METRIC_COUNTER)
        buf_puts(b, "_total");
    exposition_add_labels(b, &row->labels);
}

void exposition_number(struct buf *b, double value)
{
    if (isnan(value))
        buf_puts(b, "NaN");
    else if (isinf(value))
        buf_puts(b, value > 0 ? "+Inf" : "-Inf");
    else
        buf_number(b, value);
}

void exposition_begin(struct exposition *x, const struct run *run)
{
    labels_done(&x->of_run);
    labels_add_run(&x->of_run, run, x->points->with_id);
    labels_add_users(&x->of_run, run);
}

void exposition_done(struct exposition *x)
{
    labels_done(&x->of_run);
    free(x->values);
    x->values = NULL;
    x->count = 0;
}

static void exposition_take_point(void *arg, int64_t time_ms, const struct point *point)
{
    struct exposition *x = arg;
    size_t before = x->count;
    if (point->series >= before) {
        if (!ARRAY_RESERVE(x->values, x->count, point->series + METRICS_PER_ENTITY))
            return;
        for (size_t i = before; i < x->count; i++)
            x->values[i] = NAN;
    }
    x->values[point->series] = point->value;
}

int exposition_take(struct exposition *x, const char *chunk, size_t length)
{
    points_read(chunk, length, exposition_take_point, x);
    return x->count || length <= sizeof(struct points_head) ? 0 : -ENOMEM;
}

void exposition_add_end(struct buf *b, const struct summary *s)
{
    struct run_end end;
    run_end_take(&end, s);
    buf_add(b, (const char *)&end, sizeof end);
}

void exposition_take_end(struct exposition *x, const char *chunk, size_t length)
{
    const struct metric *m;
    if (length != sizeof x->end)
        return;
    memcpy(&x->end, chunk, length);
    for (size_t i = 0; i < x->count; i++) /* counters and peaks stay */
        if (!isnan(x->values[i]) && points_series(x->points, i, &m) && m->kind != METRIC_COUNTER &&
            m->fold != FOLD_MAX)
            x->values[i] = NAN;
}

void exposition_take_batch(struct exposition *x, const struct batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct chunk *p = &b->chunks[i];
        if (p->kind == CHUNK_FRAME)
            exposition_take(x, p->data, p->length);
        else if (p->kind == CHUNK_SUMMARY)
            exposition_take_end(x, p->data, p->length);
    }
}

static void exposition_write_family(const struct exposition *x, struct buf *b,
                                    enum entity_kind kind, unsigned metric,
                                    enum exposition_flavour flavour)
{
    const struct metric *m = metric_of(metric_first(kind) + metric);
    bool has_family = false;
    for (size_t row = 0; row * METRICS_PER_ENTITY < x->count; row++) {
        size_t series = row * METRICS_PER_ENTITY + metric;
        const struct point_row *r = points_row(x->points, row);
        if (!r || r->kind != kind || series >= x->count || isnan(x->values[series]))
            continue;
        if (!has_family)
            exposition_family(b, kind, m, flavour);
        has_family = true;
        exposition_series(b, r, m);
        exposition_number(b, x->values[series]);
        buf_putc(b, '\n');
    }
}

void exposition_write(const struct exposition *x, struct buf *b, enum exposition_flavour flavour)
{
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        for (unsigned i = 0; kind != ENTITY_PROCESS && i < metric_count(kind); i++)
            exposition_write_family(x, b, kind, i, flavour);
    struct run_fact facts[RUN_FACTS_AT_MOST];
    size_t count = run_end_facts(&x->end, facts);
    for (size_t i = 0; i < count; i++) {
        const struct run_fact *f = &facts[i];
        buf_printf(b, "# TYPE toll_run_%s gauge\n", f->name);
        if (ends_with(f->name, "_seconds") && flavour == EXPOSITION_OPENMETRICS)
            buf_printf(b, "# UNIT toll_run_%s seconds\n", f->name);
        buf_printf(b, "# HELP toll_run_%s %s\ntoll_run_%s", f->name, f->help, f->name);
        exposition_add_labels(b, &x->of_run);
        buf_fixed(b, f->number, f->decimals);
        buf_putc(b, '\n');
    }
    if (flavour == EXPOSITION_OPENMETRICS)
        buf_puts(b, "# EOF\n");
}
