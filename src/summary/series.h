/* SPDX-License-Identifier: MIT
 * Running statistics of one metric of one entity.
 *
 * A gauge is a momentary value. A counter, and a gauge that is itself an average over its interval
 * (cores in use), are looked at through windows of at least a tenth of a second: the kernel hands
 * the times of reaped children on in steps of ten milliseconds, which a shorter window would show
 * as bursts that never were. Counters that are read about once a second have windows of a second.
 */
#pragma once

#include "base/util.h"
#include "metric/metric.h"

/* ==== Histogram =============================================================================== */

/* A distribution in fixed memory.
 *
 * Values up to 31 have a bucket each. Above, every power of two is divided into 32 buckets of
 * equal width, so a value is known to 1 part in 32 at worst, and a quantile, which is given as the
 * middle of its bucket, is off by 1 part in 64 at most, whatever the range. Buckets hold weights
 * (nanoseconds), so that samples of unequal length count for as long as they stood.
 *
 * Most octaves never see a value, and a value is mostly where the one before it was. So octaves are
 * handed out of a store that many histograms share, in the order they are needed, and a weight is
 * held back until another bucket gets one: a tick touches few pages, which are cold each time. */

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
    uint64_t held;                       /* weight that is still to be added */
    unsigned held_bucket;                /* where held belongs */
    uint16_t numbers[HISTOGRAM_OCTAVES]; /* of its octaves in the store, from 1; 0: empty */
};

/* 0 or -ENOMEM. */
int octave_store_init(struct octave_store *s, unsigned histograms);
void octave_store_done(struct octave_store *s);

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight);

/* The value below which that share of the weight lies; 0 <= share <= 1. False when empty. */
bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret);

/* ==== Series ================================================================================== */

/* What a series comes to has as many decimals as are written: enough for a nanosecond. Then a text
 * made of a record says the same as the one that was made with it. */
enum { SERIES_DECIMALS = 9 };

/* How much of the run the values of a series cover, where its source does not answer all the time.
 */
enum coverage {
    COVERED,         /* as much as its kind of figure ever does */
    COVERED_ROUGHLY, /* a counter whose beginning or end is not that of the run */
    COVERED_PARTLY,  /* unknown for a part of the run: the figure is at least this */
    COVERED_SO_FAR,  /* the run went on after the last value: the figure is at least this */
};

/* The time of a maximum that the kernel kept itself: a sample shows that it was reached, not when.
 */
#define SERIES_TIME_UNKNOWN UINT64_MAX

struct series {
    uint64_t observed_ns; /* since the start of the run, the time of the last value */
    union value last;
    uint64_t window_ns;
    double window;   /* collected in the window that is open */
    double weighted; /* sum of value times time; for counters of the growth */
    uint64_t count;
    double min, max;    /* momentary values, or rates over windows */
    uint64_t max_at_ns; /* since the start of the run, or SERIES_TIME_UNKNOWN */
    double closed;      /* collected in the window before it */
    uint64_t closed_ns;
    enum coverage coverage;
    double at_peak;      /* of a part of a target: its value when the whole had its maximum */
    uint64_t at_peak_ns; /* when that was; 0: not known */
    bool last_is_old;    /* the last sample had figures beside which this one was not read */
    bool is_unlimited;   /* of a limit: it was read, and there is none */
    struct histogram *histogram; /* borrowed; NULL: no quantiles */
};

/* The value at elapsed_ns counts for the time since the value before. */
void series_put(struct series *s, const struct metric *m, union value value, uint64_t elapsed_ns);

/* Weight of a value in the distribution, where there is one. */
void series_weigh(struct series *s, const struct metric *m, double value, uint64_t weight);

/* The value that was observed at elapsed_ns. False: none was, as within a window. */
bool series_observed_at(const struct series *s, const struct metric *m, uint64_t elapsed_ns,
                        double *ret);

/* It is known from elsewhere that the value was once as large as this, at an unknown time. */
void series_at_least(struct series *s, double value);

/* Close the open window: the run is over. */
void series_end(struct series *s, const struct metric *m, uint64_t elapsed_ns);

/* Time-weighted mean of a gauge; of a counter, its growth per second. */
double series_mean(const struct series *s, const struct metric *m);

/* In the metric's unit (per second for a counter). False when not known. */
bool series_quantile(const struct series *s, const struct metric *m, double share, double *ret);
