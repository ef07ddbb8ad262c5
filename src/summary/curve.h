/* SPDX-License-Identifier: MIT
 * The shape of one figure over the whole run in a few dozen points, for a line of text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CURVE_POINTS = 64 };

/* Points of equal width in time. When the run outgrows them, neighbours are merged and the width
 * doubles, so that memory stays fixed and a peak is never lost. Zeroed is empty. */
struct curve {
    uint64_t width_ns; /* of one point; 0: empty */
    uint64_t end_ns;   /* how far it was filled, since the start of the run */
    struct {
        double sum; /* value times seconds */
        double max;
        uint64_t covered_ns; /* time with a known value */
    } points[CURVE_POINTS];
};

/* The value from from_ns until until_ns, both since the start of the run; NAN leaves a gap. */
void curve_add(struct curve *c, double value, uint64_t from_ns, uint64_t until_ns);

/* The curve in at most `count` columns: the mean of each, or the largest value. A column without a
 * value is NAN. Returns the number of columns, fewer when the curve has fewer points. */
unsigned curve_columns(const struct curve *c, unsigned count, bool largest, double *columns);
