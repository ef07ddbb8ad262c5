/* SPDX-License-Identifier: MIT
 * A distribution in fixed memory.
 *
 * Values up to 31 have a bucket each. Above, every power of two is divided into 32 buckets of
 * equal width, so a value is known to 1 part in 32 at worst, and a quantile, which is told as the
 * middle of its bucket, is off by 1 part in 64 at most, whatever the range. Buckets hold weights
 * (nanoseconds), so that samples of unequal length count for as long as they stood.
 *
 * Most octaves never see a value, and a value is mostly where the one before it was. So octaves are
 * handed out of a store that many histograms share, in the order they are needed, and a weight is
 * held back until another bucket is meant: a tick touches few pages, which are cold each time. */
#pragma once

#include "base/util.h"

enum {
    HISTOGRAM_BITS = 5, /* 32 buckets for each power of two */
    OCTAVE_BUCKETS = 1 << HISTOGRAM_BITS,
    HISTOGRAM_OCTAVES = 64 - HISTOGRAM_BITS + 1,
};

struct octave {
    uint64_t weights[OCTAVE_BUCKETS];
};

/* One block with room for every octave of its histograms: the kernel gives memory only for those
 * that are used. */
struct octave_store {
    struct octave *octaves; /* owned */
    unsigned count;
};

struct histogram {
    struct octave_store *store;          /* borrowed */
    uint64_t held;                       /* weight that is still to be added … */
    unsigned held_bucket;                /* … to this one */
    uint16_t numbers[HISTOGRAM_OCTAVES]; /* of its octaves in the store, from 1; 0: empty */
};

/* 0 or -ENOMEM. */
int octave_store_init(struct octave_store *s, unsigned histograms);
void octave_store_done(struct octave_store *s);

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight);

/* The value below which that share of the weight lies; 0 <= share <= 1. False when empty. */
bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret);
