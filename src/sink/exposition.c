/* SPDX-License-Identifier: MIT */
#include "sink/exposition.h"

#include <math.h>
#include <string.h>

static void add_escaped(struct buf *b, const char *text, bool quoted)
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
static void add_about(struct buf *b, const char *what, enum entity_kind kind,
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
    add_about(b, "TYPE", kind, m, flavour);
    buf_printf(b, "%s\n", m->facts.kind);
    if (*m->facts.unit && ends_with(m->facts.name, m->facts.unit) &&
        flavour == EXPOSITION_OPENMETRICS) {
        add_about(b, "UNIT", kind, m, flavour);
        buf_printf(b, "%s\n", m->facts.unit);
    }
    add_about(b, "HELP", kind, m, flavour);
    add_escaped(b, m->facts.help, flavour == EXPOSITION_OPENMETRICS);
    buf_putc(b, '\n');
}

void exposition_series(struct buf *b, const struct point_row *row, const struct metric *m)
{
    points_name(b, row->kind, m);
    if (m->kind == METRIC_COUNTER)
        buf_puts(b, "_total");
    for (size_t i = 0; i < row->labels.count; i++) {
        buf_printf(b, "%s%s=\"", i ? "," : "{", row->labels.items[i].name);
        add_escaped(b, row->labels.items[i].value, true);
        buf_putc(b, '"');
    }
    buf_puts(b, row->labels.count ? "} " : " ");
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

void exposition_done(struct exposition *x)
{
    free(x->values);
    x->values = NULL;
    x->count = 0;
}

static int reach(struct exposition *x, uint64_t series)
{
    if (series < x->count)
        return 0;
    size_t count = max_u64(series + METRICS_PER_ENTITY, x->count * 2);
    double *longer = reallocarray(x->values, count, sizeof *longer);
    if (!longer)
        return -ENOMEM;
    for (size_t i = x->count; i < count; i++)
        longer[i] = NAN;
    x->values = longer;
    x->count = count;
    return 0;
}

static void take(void *arg, int64_t time_ms, const struct point *point)
{
    struct exposition *x = arg;
    if (reach(x, point->series) == 0)
        x->values[point->series] = point->value;
}

int exposition_take(struct exposition *x, const char *piece, size_t length)
{
    points_read(piece, length, take, x);
    return x->count || length <= sizeof(struct points_head) ? 0 : -ENOMEM;
}

static void write_family(const struct exposition *x, struct buf *b, enum entity_kind kind,
                         unsigned metric, enum exposition_flavour flavour)
{
    const struct metric *m = metric_of(metric_first(kind) + metric);
    bool is_told = false;
    for (size_t row = 0; row * METRICS_PER_ENTITY < x->count; row++) {
        size_t series = row * METRICS_PER_ENTITY + metric;
        const struct point_row *r = points_row(x->points, row);
        if (!r || r->kind != kind || series >= x->count || isnan(x->values[series]))
            continue;
        if (!is_told)
            exposition_family(b, kind, m, flavour);
        is_told = true;
        exposition_series(b, r, m);
        exposition_number(b, x->values[series]);
        buf_putc(b, '\n');
    }
}

void exposition_write(const struct exposition *x, struct buf *b, enum exposition_flavour flavour)
{
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        for (unsigned i = 0; kind != ENTITY_PROCESS && i < metric_count(kind); i++)
            write_family(x, b, kind, i, flavour);
    if (flavour == EXPOSITION_OPENMETRICS)
        buf_puts(b, "# EOF\n");
}
