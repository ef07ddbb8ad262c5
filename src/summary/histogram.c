/* SPDX-License-Identifier: MIT */
#include "summary/histogram.h"

enum { SUB = OCTAVE_BUCKETS };

int octave_store_init(struct octave_store *s, unsigned histograms)
{
    *s = (struct octave_store){0};
    s->octaves = calloc((size_t)histograms * HISTOGRAM_OCTAVES, sizeof *s->octaves);
    return s->octaves ? 0 : -ENOMEM;
}

void octave_store_done(struct octave_store *s)
{
    free(s->octaves);
    *s = (struct octave_store){0};
}

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

static void release_held(struct histogram *h)
{
    uint16_t *number = &h->numbers[h->held_bucket / OCTAVE_BUCKETS];
    if (!*number)
        *number = (uint16_t)++h->store->count;
    h->store->octaves[*number - 1].weights[h->held_bucket % OCTAVE_BUCKETS] += h->held;
    h->held = 0;
}

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight)
{
    unsigned bucket = bucket_of(value);
    if (h->held && bucket != h->held_bucket)
        release_held(h);
    h->held_bucket = bucket;
    h->held += weight;
}

static uint64_t weight_of(const struct histogram *h, unsigned bucket)
{
    uint64_t held = bucket == h->held_bucket ? h->held : 0;
    unsigned number = h->numbers[bucket / OCTAVE_BUCKETS];
    if (!number)
        return held;
    return held + h->store->octaves[number - 1].weights[bucket % OCTAVE_BUCKETS];
}

static uint64_t weight_of_octave(const struct histogram *h, unsigned octave)
{
    uint64_t weight = 0;
    if (!h->numbers[octave]) /* as most are */
        return h->held_bucket / OCTAVE_BUCKETS == octave ? h->held : 0;
    for (unsigned i = 0; i < OCTAVE_BUCKETS; i++)
        weight += weight_of(h, octave * OCTAVE_BUCKETS + i);
    return weight;
}

/* The bucket in which so much of the weight is reached that lies in the octave. */
static unsigned find_bucket(const struct histogram *h, unsigned octave, uint64_t below)
{
    unsigned bucket = octave * OCTAVE_BUCKETS;
    uint64_t weight = weight_of(h, bucket), seen = weight;
    while (!weight || seen < below)
        seen += weight = weight_of(h, ++bucket);
    return bucket;
}

bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret)
{
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_OCTAVES; i++)
        total += weight_of_octave(h, i);
    uint64_t below = min_u64((uint64_t)(share * (double)total), total); /* a double may round up */
    for (unsigned i = 0; i < HISTOGRAM_OCTAVES; i++) {
        uint64_t weight = weight_of_octave(h, i);
        if (weight && seen + weight >= below) {
            *ret = middle_of(find_bucket(h, i, left_u64(below, seen)));
            return true;
        }
        seen += weight;
    }
    return false;
}
