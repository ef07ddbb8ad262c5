/* SPDX-License-Identifier: MIT */
#include "summary/curve.h"

#include <math.h>

enum { CURVE_FIRST_WIDTH_NS = 1000000 };

static void curve_halve(struct curve *c)
{
    for (unsigned i = 0; i < CURVE_POINTS; i++) {
        if (i >= CURVE_POINTS / 2) {
            c->points[i].sum = c->points[i].max = 0;
            c->points[i].covered_ns = 0;
            continue;
        }
        unsigned a = 2 * i, b = a + 1;
        double max = c->points[a].max;
        if (!c->points[a].covered_ns || (c->points[b].covered_ns && c->points[b].max > max))
            max = c->points[b].max;
        c->points[i].sum = c->points[a].sum + c->points[b].sum;
        c->points[i].covered_ns = c->points[a].covered_ns + c->points[b].covered_ns;
        c->points[i].max = max;
    }
    c->width_ns *= 2;
}

void curve_add(struct curve *c, double value, uint64_t from_ns, uint64_t until_ns)
{
    if (until_ns <= from_ns)
        return;
    if (!c->width_ns)
        c->width_ns = CURVE_FIRST_WIDTH_NS;
    while ((until_ns - 1) / c->width_ns >= CURVE_POINTS)
        curve_halve(c);
    for (uint64_t i = from_ns / c->width_ns; isfinite(value) && i * c->width_ns < until_ns; i++) {
        uint64_t begin = i * c->width_ns, end = begin + c->width_ns;
        uint64_t ns = (end < until_ns ? end : until_ns) - (begin > from_ns ? begin : from_ns);
        if (!c->points[i].covered_ns || value > c->points[i].max)
            c->points[i].max = value;
        c->points[i].sum += value * (double)ns / 1e9;
        c->points[i].covered_ns += ns;
    }
    if (until_ns > c->end_ns)
        c->end_ns = until_ns;
}

unsigned curve_columns(const struct curve *c, unsigned count, bool largest, double *columns)
{
    unsigned points = c->width_ns ? (unsigned)((c->end_ns - 1) / c->width_ns) + 1 : 0;
    if (count > points)
        count = points;
    for (unsigned column = 0; column < count; column++) {
        double sum = 0, max = NAN;
        uint64_t covered_ns = 0;
        for (unsigned i = column * points / count; i < (column + 1) * points / count; i++) {
            if (!c->points[i].covered_ns)
                continue;
            if (!(max >= c->points[i].max)) /* NAN at first */
                max = c->points[i].max;
            sum += c->points[i].sum;
            covered_ns += c->points[i].covered_ns;
        }
        columns[column] = largest ? max : covered_ns ? sum / ((double)covered_ns / 1e9) : NAN;
    }
    return count;
}
