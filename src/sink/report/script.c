/* SPDX-License-Identifier: MIT
 * The points of the charts as JSON within HTML, which page.js reads.
 *
 * A list of numbers is a string of digits in base 64 (A-Z, a-z, 0-9, +, /), lowest first: five bits
 * each, and the sixth is set when another digit follows. A number that may be negative has its sign
 * in the lowest bit. */
#include "sink/report/report.h"

#include <string.h>

/* ==== Texts and numbers ======================================================================= */

/* A name from outside as JSON that cannot end the element it is in. */
static void script_put_name(struct buf *b, const char *name)
{
    struct buf clean = {0};
    buf_printable(&clean, name, strlen(name));
    buf_putc(b, '"');
    for (size_t i = 0; !buf_failed(&clean) && i < clean.length; i++) {
        char c = clean.data[i];
        if (strchr("<>&\"\\", c))
            buf_printf(b, "\\u%04x", (unsigned)(unsigned char)c);
        else
            buf_putc(b, c);
    }
    buf_putc(b, '"');
    b->failed |= buf_failed(&clean);
    buf_done(&clean);
}

static void script_put_digits(struct buf *b, uint64_t number)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    do {
        buf_putc(b, digits[(number & 31) | (number >> 5 ? 32 : 0)]);
    } while (number >>= 5);
}

static void script_put_signed(struct buf *b, int64_t number)
{
    script_put_digits(b, number < 0 ? (uint64_t)-number << 1 | 1 : (uint64_t)number << 1);
}

/* ==== Series ================================================================================== */

/* The next point when each `stride` of them are merged. False after the last. */
static bool points_next(const struct trace *t, unsigned stride, unsigned *at,
                        struct trace_point *ret)
{
    if (*at >= t->point_count)
        return false;
    *ret = t->points[(*at)++];
    for (unsigned i = 1; i < stride && *at < t->point_count; i++, (*at)++) {
        trace_merge(&ret->of, &t->points[*at].of);
        ret->until_ns = t->points[*at].until_ns;
    }
    return true;
}

/* When the points are: the distance from one to the next as a difference to the one before, and in
 * the lowest bit whether the figure was unknown for a while in between; then the time that the
 * point stands for follows. One value is where it was read, several are in their middle. */
static void script_put_times(struct buf *b, const struct chart_series *s, unsigned stride,
                             uint64_t unit_ns)
{
    const struct trace *t = &s->trace;
    bool is_single = t->point_values * stride == 1;
    struct trace_point p;
    uint64_t before_ns = 0;
    int64_t before = 0, distance = 0;
    for (unsigned at = 0; points_next(t, stride, &at, &p);) {
        uint64_t at_ns = p.until_ns - (is_single ? 0 : min_u64(p.of.covered_ns, p.until_ns) / 2);
        int64_t now = (int64_t)(at_ns / unit_ns);
        now = now < before ? before : now; /* the times of a record may be in any order */
        bool has_gap = before_ns && p.until_ns > p.of.covered_ns &&
                       p.until_ns - p.of.covered_ns > before_ns + unit_ns;
        script_put_signed(b, (now - before - distance) * 2 + has_gap);
        if (has_gap)
            script_put_digits(b, (is_single ? p.of.covered_ns : p.of.covered_ns / 2) / unit_ns);
        distance = now - before;
        before = now;
        before_ns = p.until_ns;
    }
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What numbers are multiples of: whole numbers lose nothing, others keep six digits of the largest
 * one. */
static double series_scale(const struct chart_series *s)
{
    const struct metric *m = metric_of(s->id);
    const struct trace *t = &s->trace;
    if (m->kind == METRIC_GAUGE && !metric_is_double(m) && t->max < 1e15) {
        uint64_t common = 0;
        for (unsigned i = 0; i < t->point_count; i++) {
            common = divisor(common, (uint64_t)t->points[i].of.min);
            common = divisor(common, (uint64_t)t->points[i].of.max);
        }
        return common ? (double)common : 1;
    }
    double scale = 1;
    while (scale < t->max / 1e6 && scale < 1e300)
        scale *= 10;
    while (scale / 10 >= t->max / 1e6 && scale > 1e-9)
        scale /= 10;
    return scale;
}

static int64_t scaled(double value, double scale)
{
    double number = value / scale;
    if (!(number > 0)) /* nor a number */
        return 0;
    return number < 1e15 ? (int64_t)(number + 0.5) : (int64_t)1e15;
}

/* The values: the mean as a difference to the one before and, where points hold several values, how
 * far the smallest is below it and the largest above. */
static void script_put_values(struct buf *b, const struct trace *t, unsigned stride, double scale)
{
    bool is_single = t->point_values * stride == 1;
    struct trace_point p;
    int64_t before = 0;
    for (unsigned at = 0; points_next(t, stride, &at, &p);) {
        int64_t min = scaled(p.of.min, scale), max = scaled(p.of.max, scale);
        int64_t mean = is_single ? max : scaled(trace_mean(&p.of), scale);
        mean = mean < min ? min : mean > max ? max : mean;
        script_put_signed(b, mean - before);
        before = mean;
        if (is_single)
            continue;
        script_put_digits(b, (uint64_t)(mean - min));
        script_put_digits(b, (uint64_t)(max - mean));
    }
}

/* ==== Charts ================================================================================== */

/* Most series have their points at the same times, which are written once. */
struct script_times {
    struct buf of[REPORT_CHARTS * CHART_SERIES];
    unsigned count;
};

/* The number of these times among all; new ones are added. */
static unsigned script_time_index(struct script_times *all, const struct chart_series *s,
                                  unsigned stride, uint64_t unit_ns)
{
    struct buf *own = &all->of[all->count];
    script_put_times(own, s, stride, unit_ns);
    for (unsigned i = 0; i < all->count && !buf_failed(own); i++)
        if (all->of[i].length == own->length && !memcmp(all->of[i].data, own->data, own->length)) {
            buf_done(own);
            *own = (struct buf){0};
            return i;
        }
    return all->count++;
}

/* How page.js writes its figures. */
static const char *chart_unit(const struct metric *m)
{
    static const char *const units[][2] = {
        [UNIT_seconds] = {"share", "seconds"},
        [UNIT_bytes] = {"bytes/s", "bytes"},
        [UNIT_count] = {"count/s", "count"},
        [UNIT_joules] = {"W", "J"},
        [UNIT_hertz] = {"Hz/s", "Hz"},
        [UNIT_cores] = {"cores", "cores"},
        [UNIT_ratio] = {"ratio", "ratio"},
        [UNIT_number] = {"number", "number"},
        [UNIT_watts] = {"W", "W"},
        [UNIT_celsius] = {"celsius", "celsius"},
    };
    return units[m->unit][m->kind == METRIC_GAUGE];
}

static void script_put_chart(const struct report *r, const struct chart *c, struct buf *b,
                             unsigned stride, uint64_t unit_ns, struct script_times *times)
{
    const char *separator = "";
    buf_printf(b, "{\"unit\":\"%s\"", chart_unit(metric_of(c->series[0].id)));
    if (chart_limit(r, c) > 0) {
        buf_printf(b, ",\"limit\":[\"%s\",", c->plan->limit == LIMIT_CPUS ? "allowed" : "limit");
        buf_number(b, chart_limit(r, c));
        buf_putc(b, ']');
    }
    if (chart_marks_peak(c)) {
        buf_puts(b, ",\"peak\":[");
        buf_seconds(b, c->series[0].trace.max_at_ns);
        buf_putc(b, ',');
        buf_number(b, c->series[0].trace.max);
        buf_putc(b, ']');
    }
    buf_puts(b, ",\"series\":[");
    for (unsigned i = 0; i < c->count; i++) {
        const struct trace *t = &c->series[i].trace;
        if (!t->point_count || !chart_series_is_drawn(c, i))
            continue;
        double scale = series_scale(&c->series[i]);
        buf_printf(b, "%s{\"colour\":%u,\"name\":", separator, i);
        script_put_name(b, *c->series[i].name ? c->series[i].name : c->plan->title);
        buf_printf(b, ",\"time\":%u,\"merged\":%llu,\"scale\":",
                   script_time_index(times, &c->series[i], stride, unit_ns),
                   (unsigned long long)(t->point_values * stride));
        buf_number(b, scale);
        const struct trace_point *first = &t->points[0]; /* whose width no point before it shows */
        buf_puts(b, ",\"from\":");
        buf_seconds(b, left_u64(first->until_ns, first->of.covered_ns));
        buf_puts(b, ",\"values\":\"");
        script_put_values(b, t, stride, scale);
        buf_puts(b, "\"}");
        separator = ",";
    }
    buf_puts(b, "]}");
}

static void script_put_marks(const struct report *r, struct buf *b)
{
    buf_puts(b, ",\"phases\":[");
    for (unsigned i = 0; i < r->phase_count; i++) {
        buf_puts(b, i ? ",[" : "[");
        script_put_name(b, r->phases[i].name);
        buf_putc(b, ',');
        buf_seconds(b, r->phases[i].from_ns);
        buf_putc(b, ',');
        buf_seconds(b, r->phases[i].until_ns);
        buf_printf(b, ",%u]", r->phases[i].colour);
    }
    buf_puts(b, "],\"events\":[");
    for (unsigned i = 0; i < r->event_count; i++) {
        buf_puts(b, i ? ",[" : "[");
        script_put_name(b, r->events[i].name);
        buf_putc(b, ',');
        buf_seconds(b, r->events[i].at_ns);
        buf_putc(b, ']');
    }
    buf_putc(b, ']');
}

/* Everything, with each `stride` points merged. */
static void script_put_json(const struct report *r, struct buf *b, unsigned stride)
{
    struct script_times times = {0};
    const char *separator = "";
    uint64_t all_ns = r->summary->elapsed_ns, unit_ns = 1;
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        for (unsigned k = 0; k < r->charts[i].count; k++)
            all_ns = max_u64(all_ns, r->charts[i].series[k].trace.end_ns);
    while (all_ns / unit_ns > 10000000)
        unit_ns *= 10;
    buf_puts(b, "{\"seconds\":");
    buf_seconds(b, all_ns);
    buf_puts(b, ",\"unit\":");
    buf_seconds(b, unit_ns);
    script_put_marks(r, b);
    buf_puts(b, ",\"charts\":[");
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        if (!chart_is_empty(&r->charts[i])) {
            buf_puts(b, separator);
            script_put_chart(r, &r->charts[i], b, stride, unit_ns, &times);
            separator = ",";
        }
    buf_puts(b, "],\"times\":[");
    for (unsigned i = 0; i < times.count; i++) {
        buf_puts(b, i ? ",\"" : "\"");
        if (!buf_failed(&times.of[i]) && times.of[i].length)
            buf_add(b, times.of[i].data, times.of[i].length);
        buf_putc(b, '"');
        b->failed |= buf_failed(&times.of[i]);
        buf_done(&times.of[i]);
    }
    buf_puts(b, "]}");
}

void script_put_data(const struct report *r, struct buf *b)
{
    enum { PAGE = 1700 * 1000, MOST = 900 * 1000, LEAST = 50 * 1000 }; /* bytes */
    size_t budget = b->length < PAGE - MOST    ? MOST
                    : b->length < PAGE - LEAST ? PAGE - b->length
                                               : LEAST;
    if (!script_is_built_in())
        return;
    buf_puts(b, "<script type=\"application/json\" class=\"data\">");
    size_t start = b->length;
    for (unsigned stride = 1; stride <= TRACE_POINTS; stride *= 2) {
        b->length = start;
        script_put_json(r, b, stride);
        if (buf_failed(b) || b->length - start <= budget)
            break;
    }
    buf_puts(b, "</script>\n");
}

void script_put_style(struct buf *b)
{
    if (!script_is_built_in())
        return;
    buf_printf(b, "\n<style>%s</style>", report_script_style);
}

void script_put(struct buf *b)
{
    if (!script_is_built_in())
        return;
    buf_puts(b, "<script>");
    buf_puts(b, report_script);
    buf_puts(b, "</script>\n");
}
