/* SPDX-License-Identifier: MIT
 * A distribution in fixed memory.
 *
 * Values up to 31 have a bucket each. Above, every power of two is divided into 32 buckets of
 * equal width, so a value is known to 1 part in 32 at worst, and a quantile, which is told as the
 * middle of its bucket, is off by 1 part in 64 at most, whatever the range. Buckets hold weights
 * (nanoseconds), so that samples of unequal length count for as long as they stood. Two histograms
 * are merged by adding their buckets. */
#pragma once

#include "base/util.h"

enum {
    HISTOGRAM_BITS = 5, /* 32 buckets for each power of two */
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS,
};

struct histogram {
    uint64_t weights[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight);
void histogram_merge(struct histogram *into, const struct histogram *h);

/* The value below which that share of the weight lies; 0 <= share <= 1. False when empty. */
bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret);
