/* SPDX-License-Identifier: MIT
 * Charts as inline SVG: the mean of each column as a line, from its smallest to its largest value
 * as a band, so that a peak is visible however much was merged. No script is needed. Classes and
 * colours are those of chart.css. */
#include "sink/report/report.h"

#include <string.h>

enum {
    WIDTH = CHART_WIDTH,
    HEIGHT = 240,
    LEFT = CHART_LEFT,
    RIGHT = CHART_RIGHT,
    TOP = CHART_TOP,
    BOTTOM = CHART_BOTTOM,
    PLOT_WIDTH = WIDTH - LEFT - RIGHT,
    PLOT_HEIGHT = HEIGHT - TOP - BOTTOM,
    TICKS_Y = 4,
    TICKS_X = 8,
    LETTER = CHART_LETTER,
};

/* ==== Axes ==================================================================================== */

/* The smallest of 1, 2, 5, 10, 20, … times `unit` that is not below the value. */
static double axis_round_up(double value, double unit)
{
    static const double steps[] = {1, 2, 5};
    double power = unit;
    while (power > value && power > 1e-12)
        power /= 10;
    for (;; power *= 10)
        for (size_t i = 0; i < ARRAY_LEN(steps); i++)
            if (steps[i] * power >= value * (1 - 1e-9))
                return steps[i] * power;
}

/* The distance of the marks on an axis for values up to `most`, a round number in its unit: bytes
 * have powers of two, so that 512 KiB are followed by 1 MiB, counts have whole numbers. */
static double axis_step(const struct metric *m, double most, unsigned ticks)
{
    double least = most / ticks;
    if (m->unit == UNIT_bytes) {
        double step = 1;
        while (step < least * (1 - 1e-9))
            step *= 2;
        return step;
    }
    double step = axis_round_up(least, 1);
    if (m->unit == UNIT_cores && step < 0.01) /* they are written with two decimals */
        return 0.01;
    return m->unit == UNIT_count && step < 1 ? 1 : step;
}

/* Steps of a time axis that people read: 1, 2, 5 of a decimal fraction, then whole minutes, hours
 * and days. */
static double axis_time_step(double seconds)
{
    static const double steps[] = {1,     2,     5,     10,    15,     30,    60,
                                   120,   300,   600,   900,   1800,   3600,  7200,
                                   10800, 21600, 43200, 86400, 172800, 604800};
    double least = seconds / TICKS_X;
    if (least < 1)
        return axis_round_up(least, 1);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (steps[i] >= least)
            return steps[i];
    return axis_round_up(least, 604800);
}

/* A share of the time, of pressure, is a counter of seconds per second: people read percent. */
void chart_put_value(struct buf *b, const struct metric *m, double value)
{
    if (m->kind == METRIC_COUNTER && m->unit == UNIT_seconds) {
        buf_double_fixed(b, value * 100, value < 0.0995 ? 1 : 0);
        buf_puts(b, " %");
    } else if (m->kind == METRIC_COUNTER) {
        human_rate(b, m, value);
    } else {
        human_number(b, m, value);
    }
}

/* A number on an axis: "2 s" and "50 MiB/s", not "2.00 s" and "50.0 MiB/s". */
static void put_tick(struct buf *b, size_t start)
{
    size_t end = start;
    if (buf_failed(b))
        return;
    while (end < b->length && (b->data[end] == '.' || (b->data[end] >= '0' && b->data[end] <= '9')))
        end++;
    size_t cut = end;
    if (!memchr(b->data + start, '.', end - start))
        return;
    while (b->data[cut - 1] == '0')
        cut--;
    cut -= b->data[cut - 1] == '.';
    memmove(b->data + cut, b->data + end, b->length - end);
    b->length -= end - cut;
}

static void put_xy(struct buf *b, double x, double y)
{
    buf_double_fixed(b, x, 1);
    buf_putc(b, ',');
    buf_double_fixed(b, y, 1);
    buf_putc(b, ' ');
}

double chart_x(uint64_t at_ns, uint64_t all_ns)
{
    return LEFT + PLOT_WIDTH * ((double)at_ns / (double)(all_ns ? all_ns : 1));
}

void chart_put_x(struct buf *b, double x, bool is_share)
{
    buf_double_fixed(b, is_share ? 100 * x / WIDTH : x, is_share ? 2 : 1);
    buf_puts(b, is_share ? "%" : "");
}

void chart_draw_time(struct buf *b, uint64_t all_ns, double bottom, bool is_share)
{
    double last = is_share ? 0.95 * WIDTH : WIDTH - RIGHT - 18; /* room for half of a label */
    double all = (double)all_ns / 1e9;
    double step = axis_time_step(all);
    for (unsigned i = 0; all > 0 && (double)i * step <= all * (1 + 1e-9); i++) {
        double x = LEFT + PLOT_WIDTH * ((double)i * step / all);
        buf_puts(b, "<line class=\"g\" x1=\"");
        chart_put_x(b, x, is_share);
        buf_printf(b, "\" x2=\"");
        chart_put_x(b, x, is_share);
        buf_puts(b, "\" y1=\"");
        buf_u64(b, TOP);
        buf_puts(b, "\" y2=\"");
        buf_double_fixed(b, bottom, 1);
        buf_puts(b, "\"/><text class=\"t\" text-anchor=\"middle\" x=\"");
        chart_put_x(b, x > last ? last : x, is_share);
        buf_puts(b, "\" y=\"");
        buf_double_fixed(b, bottom + 18, 1);
        buf_puts(b, "\">");
        size_t start = b->length;
        if (i)
            human_seconds(b, (double)i * step);
        else
            buf_putc(b, '0');
        put_tick(b, start);
        buf_puts(b, "</text>");
    }
}

/* ==== One chart =============================================================================== */

bool chart_is_empty(const struct chart *c)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->series[i].trace.count && c->series[i].trace.max > 0)
            return false;
    return true;
}

/* The first curve is what the chart is about. Another one that is 0 all the time is a line on the
 * axis, which says less than a word in the legend. */
bool chart_series_is_drawn(const struct chart *c, unsigned i)
{
    const struct trace *t = &c->series[i].trace;
    return t->count && (i == 0 || t->max > 0 || c->series[0].trace.max <= 0);
}

const char *chart_title(const struct chart *c)
{
    return c->plan->title;
}

double trace_overall_mean(const struct trace *t)
{
    double sum = 0, seconds = 0;
    for (unsigned i = 0; i < trace_length(t); i++) {
        sum += t->columns[i].sum;
        seconds += (double)t->columns[i].covered_ns / 1e9;
    }
    return seconds > 0 ? sum / seconds : 0;
}

/* What the chart shows in words: the largest and the mean value of each series. */
static void chart_put_words(const struct report *r, const struct chart *c, struct buf *b)
{
    (void)r;
    const char *separator = "";
    for (unsigned i = 0; i < c->count; i++) {
        const struct chart_series *s = &c->series[i];
        if (!s->trace.count)
            continue;
        buf_puts(b, separator);
        html_put(b, s->name);
        buf_puts(b, *s->name ? ": up to " : "up to ");
        chart_put_value(b, metric_of(s->id), s->trace.max);
        buf_puts(b, ", mean ");
        chart_put_value(b, metric_of(s->id), trace_overall_mean(&s->trace));
        separator = "; ";
    }
}

double chart_limit(const struct report *r, const struct chart *c)
{
    if (c->plan->limit == NO_LIMIT)
        return 0;
    const struct limit *l = &r->summary->whole.limits.of[c->plan->limit];
    if (!l->known || l->unlimited)
        return 0;
    return c->plan->limit == LIMIT_CPUS ? l->cores : (double)l->value;
}

bool chart_marks_peak(const struct chart *c)
{
    return c->series[0].trace.count && metric_of(c->series[0].id)->kind == METRIC_GAUGE &&
           c->plan->limit != NO_LIMIT;
}

struct chart_scale chart_scale_of(const struct metric *m, double most, uint64_t all_ns)
{
    struct chart_scale s = {.all_ns = all_ns, .step = axis_step(m, most, TICKS_Y), .ticks = 1};
    while ((double)s.ticks * s.step < most * (1 - 1e-9))
        s.ticks++;
    s.top = (double)s.ticks * s.step;
    return s;
}

static double y_of(const struct chart_scale *s, double value)
{
    double share = value / s->top;
    return TOP + PLOT_HEIGHT * (1 - (share > 1 ? 1 : share < 0 ? 0 : share));
}

void chart_draw_axes(struct buf *b, const struct metric *m, const struct chart_scale *scale)
{
    for (unsigned i = 0; i <= scale->ticks; i++) {
        double y = y_of(scale, (double)i * scale->step);
        buf_printf(b, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"", LEFT, WIDTH - RIGHT);
        buf_double_fixed(b, y, 1);
        buf_puts(b, "\" y2=\"");
        buf_double_fixed(b, y, 1);
        buf_printf(b, "\"/><text class=\"t\" text-anchor=\"end\" x=\"%d\" y=\"", LEFT - 8);
        buf_double_fixed(b, y + 4, 1);
        buf_puts(b, "\">");
        size_t start = b->length;
        if (i)
            chart_put_value(b, m, (double)i * scale->step);
        else
            buf_putc(b, '0');
        put_tick(b, start);
        buf_puts(b, "</text>");
    }
    chart_draw_time(b, scale->all_ns, TOP + PLOT_HEIGHT, false);
}

/* The means of columns from edge to edge, so that a single column is visible too. */
static void chart_put_means(struct buf *b, const struct chart_scale *scale, const struct trace *t,
                            unsigned from, unsigned until)
{
    put_xy(b, chart_x(from * t->width_ns, scale->all_ns),
           y_of(scale, trace_mean(&t->columns[from])));
    for (unsigned i = from; i < until; i++)
        put_xy(b, chart_x(i * t->width_ns + t->width_ns / 2, scale->all_ns),
               y_of(scale, trace_mean(&t->columns[i])));
    put_xy(b, chart_x(min_u64(until * t->width_ns, scale->all_ns), scale->all_ns),
           y_of(scale, trace_mean(&t->columns[until - 1])));
}

/* A stretch of columns with values. */
static void chart_draw_stretch(struct buf *b, const struct chart_scale *scale,
                               const struct trace *t, unsigned from, unsigned until,
                               unsigned colour, enum chart_line line)
{
    if (line == CHART_AREA) {
        buf_printf(b, "<polygon class=\"f a c%u\" points=\"", colour);
        put_xy(b, chart_x(from * t->width_ns, scale->all_ns), TOP + PLOT_HEIGHT);
        chart_put_means(b, scale, t, from, until);
        put_xy(b, chart_x(min_u64(until * t->width_ns, scale->all_ns), scale->all_ns),
               TOP + PLOT_HEIGHT);
        buf_puts(b, "\"/>");
    }
    if (line != CHART_LINE) {
        buf_printf(b, "<polygon class=\"f b c%u\" points=\"", colour);
        for (unsigned i = from; i < until; i++)
            put_xy(b, chart_x(i * t->width_ns + t->width_ns / 2, scale->all_ns),
                   y_of(scale, t->columns[i].max));
        for (unsigned i = until; i-- > from;)
            put_xy(b, chart_x(i * t->width_ns + t->width_ns / 2, scale->all_ns),
                   y_of(scale, t->columns[i].min));
        buf_puts(b, "\"/>");
    }
    buf_printf(b, "<polyline class=\"l%s c%u\" points=\"", line == CHART_LINE ? " curve" : "",
               colour);
    chart_put_means(b, scale, t, from, until);
    buf_puts(b, "\"/>");
}

void chart_draw_trace(struct buf *b, const struct chart_scale *scale, const struct trace *t,
                      unsigned colour, enum chart_line line)
{
    unsigned length = trace_length(t), from = 0;
    while (from < length) {
        while (from < length && !t->columns[from].covered_ns)
            from++;
        unsigned until = from;
        while (until < length && t->columns[until].covered_ns)
            until++;
        if (until > from)
            chart_draw_stretch(b, scale, t, from, until, colour, line);
        from = until;
    }
}

/* Phases as bands and events as lines, behind the curves. */
static void chart_draw_marks(const struct report *r, struct buf *b, const struct chart_scale *scale)
{
    for (unsigned i = 0; i < r->phase_count; i++) {
        const struct report_span *s = &r->phases[i];
        double from = chart_x(min_u64(s->from_ns, scale->all_ns), scale->all_ns);
        double until = chart_x(min_u64(s->until_ns, scale->all_ns), scale->all_ns);
        buf_printf(b, "<rect class=\"p p%u\" x=\"", s->colour);
        buf_double_fixed(b, from, 1);
        buf_printf(b, "\" y=\"%d\" height=\"%d\" width=\"", TOP, PLOT_HEIGHT);
        buf_double_fixed(b, until > from ? until - from : 0.5, 1);
        buf_puts(b, "\"><title>phase ");
        html_put(b, s->name);
        buf_puts(b, "</title></rect>");
    }
    for (unsigned i = 0; i < r->event_count; i++) {
        double x = chart_x(min_u64(r->events[i].at_ns, scale->all_ns), scale->all_ns);
        buf_puts(b, "<line class=\"e\" x1=\"");
        buf_double_fixed(b, x, 1);
        buf_puts(b, "\" x2=\"");
        buf_double_fixed(b, x, 1);
        buf_printf(b, "\" y1=\"%d\" y2=\"%d\"><title>event ", TOP, TOP + PLOT_HEIGHT);
        html_put(b, r->events[i].name);
        buf_puts(b, "</title></line>");
    }
}

static void chart_draw_limit(struct buf *b, const struct chart *c, const struct chart_scale *scale,
                             double limit, const struct metric *m)
{
    bool fits = limit <= scale->top;
    double y = y_of(scale, limit);
    if (fits) {
        buf_printf(b, "<line class=\"m\" x1=\"%d\" x2=\"%d\" y1=\"", LEFT, WIDTH - RIGHT);
        buf_double_fixed(b, y, 1);
        buf_puts(b, "\" y2=\"");
        buf_double_fixed(b, y, 1);
        buf_puts(b, "\"/>");
    }
    /* Above the plot, where no curve is. */
    buf_printf(b,
               "<text class=\"t%s\" text-anchor=\"end\" x=\"%d\" y=\"%d\">%s: ", fits ? " m" : "",
               WIDTH - RIGHT, TOP - 4, c->plan->limit == LIMIT_CPUS ? "allowed" : "limit");
    human_number(b, m, limit);
    buf_puts(b, c->plan->limit == LIMIT_CPUS ? " cores" : "");
    buf_puts(b, fits ? "</text>" : " (above this chart)</text>");
}

void chart_begin(struct buf *b, bool inside, unsigned offset)
{
    buf_printf(b, "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" ", WIDTH, HEIGHT);
    if (inside)
        buf_printf(b, "y=\"%u\" width=\"%d\" height=\"%d\" ", offset, WIDTH, HEIGHT);
    buf_puts(b, "aria-label=\"");
}

/* As an element of a page, or `inside` of a picture at an offset. */
static void chart_draw_svg(const struct report *r, const struct chart *c, struct buf *b,
                           bool inside, unsigned offset)
{
    const struct metric *m = metric_of(c->series[0].id);
    uint64_t all_ns = r->summary->elapsed_ns;
    double most = 0, limit = chart_limit(r, c);
    const struct chart_series *first = &c->series[0];
    for (unsigned i = 0; i < c->count; i++) {
        most = c->series[i].trace.max > most ? c->series[i].trace.max : most;
        all_ns = max_u64(all_ns, c->series[i].trace.end_ns);
    }
    /* A limit far above would make the curve flat. */
    if (limit > 0 && limit < 2 * most)
        most = limit > most ? limit * 1.02 : most;
    struct chart_scale scale = chart_scale_of(m, most, all_ns);

    chart_begin(b, inside, offset);
    html_put(b, c->plan->title);
    buf_puts(b, ". ");
    chart_put_words(r, c, b);
    buf_puts(b, "\">");
    chart_draw_marks(r, b, &scale);
    chart_draw_axes(b, m, &scale);
    for (unsigned i = c->count; i-- > 0;) /* the first is the one that matters: on top */
        if (chart_series_is_drawn(c, i))
            chart_draw_trace(b, &scale, &c->series[i].trace, i, i ? CHART_BAND : CHART_AREA);
    if (limit > 0)
        chart_draw_limit(b, c, &scale, limit, m);
    if (chart_marks_peak(c)) {
        buf_puts(b, "<circle class=\"k\" r=\"4\" cx=\"");
        buf_double_fixed(b, chart_x(first->trace.max_at_ns, scale.all_ns), 1);
        buf_puts(b, "\" cy=\"");
        buf_double_fixed(b, y_of(&scale, first->trace.max), 1);
        buf_puts(b, "\"><title>peak: ");
        chart_put_value(b, m, first->trace.max);
        buf_puts(b, " after ");
        human_seconds(b, (double)first->trace.max_at_ns / 1e9);
        buf_puts(b, "</title></circle>");
    }
    buf_puts(b, "</svg>\n");
}

void chart_draw(const struct report *r, const struct chart *c, struct buf *b)
{
    chart_draw_svg(r, c, b, false, 0);
}

/* ==== Several charts ========================================================================== */

enum { HEADING = 30 };

/* The title, and the colour and name of each curve where there are several. */
static void chart_draw_heading(const struct chart *c, struct buf *b, unsigned y)
{
    unsigned x = LEFT, shown = 0;
    buf_printf(b, "<text class=\"t h\" x=\"%u\" y=\"%u\">", x, y);
    html_put(b, c->plan->title);
    buf_puts(b, "<tspan class=\"t\" dx=\"8\">");
    html_put(b, c->plan->about);
    buf_puts(b, "</tspan></text>");
    x += (unsigned)(strlen(c->plan->title) * (LETTER + 2) + strlen(c->plan->about) * LETTER) + 24;
    for (unsigned i = 0; i < c->count; i++)
        shown += chart_series_is_drawn(c, i) && *c->series[i].name;
    for (unsigned i = 0; i < c->count && shown > 1; i++) {
        const struct chart_series *s = &c->series[i];
        if (!chart_series_is_drawn(c, i))
            continue;
        buf_printf(b, "<rect class=\"f c%u\" x=\"%u\" y=\"%u\" width=\"10\" height=\"10\"/>", i, x,
                   y - 9);
        buf_printf(b, "<text class=\"t\" x=\"%u\" y=\"%u\">", x + 14, y);
        html_put(b, s->name);
        buf_puts(b, "</text>");
        x += (unsigned)strlen(s->name) * LETTER + 32;
    }
}

void charts_draw(const struct report *r, const struct chart *const *charts, unsigned count,
                 const char *title, struct buf *b)
{
    unsigned top = title ? HEADING : 0;
    unsigned height = top + (count ? count * (HEADING + HEIGHT) : 40);
    buf_printf(b,
               "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" "
               "width=\"%d\" height=\"%u\">",
               WIDTH, height, WIDTH, height);
    buf_printf(b, "<style>%ssvg{background:var(--bg)}</style>\n", report_chart_style);
    if (title) {
        size_t length = strlen(title), fits = utf8_fitting(title, length, WIDTH / (LETTER + 2));
        buf_printf(b, "<text class=\"t h\" x=\"%d\" y=\"%d\">", LEFT, HEADING - 8);
        html_add(b, title, fits);
        buf_puts(b, fits < length ? "…</text>\n" : "</text>\n");
    }
    if (!count)
        buf_printf(b, "<text class=\"t\" x=\"%d\" y=\"%u\">no samples</text>", LEFT, top + 24);
    for (unsigned i = 0; i < count; i++) {
        unsigned y = top + i * (HEADING + HEIGHT);
        chart_draw_heading(charts[i], b, y + HEADING - 10);
        chart_draw_svg(r, charts[i], b, true, y + HEADING);
    }
    buf_puts(b, "</svg>\n");
}

/* ==== Data ==================================================================================== */

enum trace_value { TRACE_MEAN, TRACE_MIN, TRACE_MAX };

static void trace_put_json(const struct trace *t, const char *key, enum trace_value which,
                           struct json_out *j)
{
    unsigned indent = j->indent;
    json_key(j, key);
    j->indent = 0; /* hundreds of numbers in a line */
    json_array(j);
    for (unsigned i = 0; i < trace_length(t); i++) {
        const struct trace_column *c = &t->columns[i];
        if (!c->covered_ns)
            json_null(j);
        else
            json_number(j, which == TRACE_MEAN  ? trace_mean(c)
                           : which == TRACE_MIN ? c->min
                                                : c->max);
    }
    json_array_end(j);
    j->indent = indent;
}

void chart_put_json(const struct report *r, const struct chart *c, struct json_out *j)
{
    const struct metric *m = metric_of(c->plan->curves[0].id);
    double limit = chart_limit(r, c);
    json_object(j);
    json_put_string(j, "name", c->plan->name);
    json_put_string(j, "title", c->plan->title);
    json_put_string(j, "about", c->plan->about);
    json_put_string(j, "unit", m->facts.unit);
    json_put_bool(j, "per_second", m->kind == METRIC_COUNTER);
    if (limit > 0)
        json_put_number(j, "limit", limit);
    json_put_array(j, "series");
    for (unsigned i = 0; i < c->count; i++) {
        const struct trace *t = &c->series[i].trace;
        if (!t->count)
            continue;
        json_object(j);
        json_put_string(j, "name", c->series[i].name);
        json_put_string(j, "metric",
                        c->series[i].is_rest ? "" : metric_of(c->series[i].id)->facts.name);
        json_put_seconds(j, "column_seconds", t->width_ns);
        json_put_number(j, "peak", t->max);
        json_put_seconds(j, "peak_at_seconds", t->max_at_ns);
        trace_put_json(t, "mean", TRACE_MEAN, j);
        trace_put_json(t, "min", TRACE_MIN, j);
        trace_put_json(t, "max", TRACE_MAX, j);
        json_object_end(j);
    }
    json_array_end(j);
    json_put_bool(j, "left_out", c->left_out);
    json_object_end(j);
}

/* ==== Runs ==================================================================================== */

void history_draw(const struct report_history *h, enum history_figure f, struct buf *b)
{
    enum { RUNS_WIDTH = 300, RUNS_HEIGHT = 64, MARGIN = 6 };
    const struct metric *m = metric_of(history_columns[f].unit);
    size_t first = h->count > HISTORY_CURVE ? h->count - HISTORY_CURVE : 0,
           count = h->count - first;
    double most = 0, least = INFINITY;
    for (size_t i = first; i < h->count; i++) {
        if (h->runs[i].figures[f].quality == QUALITY_UNKNOWN)
            continue;
        double value = h->runs[i].figures[f].value;
        most = value > most ? value : most;
        least = value < least ? value : least;
    }
    if (count < 2 || !(most > 0))
        return;
    buf_printf(b,
               "<svg class=\"runs\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s of %zu "
               "runs, from ",
               RUNS_WIDTH, RUNS_HEIGHT, history_columns[f].title, count);
    human_number(b, m, least);
    buf_puts(b, " to ");
    human_number(b, m, most);
    buf_puts(b, "\">");
    buf_printf(b, "<line class=\"g\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", RUNS_WIDTH,
               RUNS_HEIGHT - MARGIN, RUNS_HEIGHT - MARGIN);
    double step = (double)(RUNS_WIDTH - 2 * MARGIN) / (double)(count - 1);
    double scale = (RUNS_HEIGHT - 2 * MARGIN) / most;
    /* Lines between runs of which both are known, then a point for each run. */
    for (unsigned pass = 0; pass < 2; pass++) {
        bool is_open = false;
        for (size_t i = 0; i < count; i++) {
            const struct report_past *p = &h->runs[first + i];
            bool is_known = p->figures[f].quality != QUALITY_UNKNOWN;
            double x = MARGIN + step * (double)i;
            double y = RUNS_HEIGHT - MARGIN - scale * (is_known ? p->figures[f].value : 0);
            if (!pass && is_known) {
                buf_puts(b, is_open ? "" : "<polyline class=\"l c0\" points=\"");
                put_xy(b, x, y);
            } else if (!pass && is_open) {
                buf_puts(b, "\"/>");
            } else if (is_known) {
                buf_printf(b, "<circle class=\"%s\" r=\"%s\" cx=\"", history_is_bad(p) ? "k" : "r",
                           first + i + 1 == h->count ? "4" : "2.5");
                buf_double_fixed(b, x, 1);
                buf_puts(b, "\" cy=\"");
                buf_double_fixed(b, y, 1);
                buf_puts(b, "\"><title>");
                report_put_time(b, p->start_ns);
                buf_puts(b, ": ");
                history_put_figure(p, f, b);
                buf_puts(b, "</title></circle>");
            }
            is_open = !pass && is_known;
        }
        buf_puts(b, is_open ? "\"/>" : "");
    }
    buf_puts(b, "</svg>\n");
}
