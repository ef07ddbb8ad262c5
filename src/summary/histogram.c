/* SPDX-License-Identifier: MIT */
#include "summary/histogram.h"

enum { SUB = 1 << HISTOGRAM_BITS };

/* The top bit chooses the octave, the five below it the bucket in it. */
static unsigned bucket_of(uint64_t value)
{
    if (value < SUB)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
    return ((shift + 1) << HISTOGRAM_BITS) + (unsigned)((value >> shift) - SUB);
}

static uint64_t middle_of(unsigned bucket)
{
    if (bucket < SUB)
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_BITS) - 1;
    uint64_t low = (uint64_t)(SUB + (bucket & (SUB - 1))) << shift;
    return low + (BIT(shift) - 1) / 2;
}

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight)
{
    if (!h->buckets)
        return;
    unsigned bucket = bucket_of(value);
    if (bucket != h->held_bucket) {
        h->buckets->weights[h->held_bucket] += h->held;
        h->held_bucket = bucket;
        h->held = 0;
    }
    h->held += weight;
}

static uint64_t weight_of(const struct histogram *h, unsigned bucket)
{
    return h->buckets->weights[bucket] + (bucket == h->held_bucket ? h->held : 0);
}

bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret)
{
    if (!h->buckets)
        return false;
    uint64_t total = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        total += weight_of(h, i);
    uint64_t below = min_u64((uint64_t)(share * (double)total), total); /* a double may round up */
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t weight = weight_of(h, i);
        seen += weight;
        if (weight && seen >= below) {
            *ret = middle_of(i);
            return true;
        }
    }
    return false;
}
