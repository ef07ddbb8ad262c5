/* SPDX-License-Identifier: MIT
 * A distribution in fixed memory.
 *
 * Values up to 31 have a bucket each. Above, every power of two is divided into 32 buckets of
 * equal width, so a value is known to 1 part in 32 at worst, and a quantile, which is told as the
 * middle of its bucket, is off by 1 part in 64 at most, whatever the range. Buckets hold weights
 * (nanoseconds), so that samples of unequal length count for as long as they stood.
 *
 * The buckets fill several pages, and a value is mostly where the one before it was: its weight is
 * held back until another bucket is meant, so that dozens of pages stay untouched at every tick. */
#pragma once

#include "base/util.h"

enum {
    HISTOGRAM_BITS = 5, /* 32 buckets for each power of two */
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS,
};

struct buckets {
    uint64_t weights[HISTOGRAM_BUCKETS];
};

struct histogram {
    struct buckets *buckets; /* borrowed; NULL: nothing is kept */
    uint64_t held;           /* weight that is still to be added … */
    unsigned held_bucket;    /* … to this one */
};

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight);

/* The value below which that share of the weight lies; 0 <= share <= 1. False when empty or not
 * kept. */
bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret);
