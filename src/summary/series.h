/* SPDX-License-Identifier: MIT
 * Running statistics of one metric of one entity.
 *
 * A gauge is a momentary value. A counter, and a gauge that is itself an average over its interval
 * (cores in use), are looked at through windows of at least a tenth of a second: the kernel hands
 * the times of reaped children on in steps of ten milliseconds, which a shorter window would show
 * as bursts that never were. Counters that are read about once a second have windows of a second.
 */
#pragma once

#include "metric/metric.h"
#include "summary/histogram.h"

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

struct series {
    uint64_t count;
    uint64_t observed_ns; /* since the start of the run, the time of the last value */
    double weighted;      /* sum of value times time; for counters of the growth */
    double min, max;      /* momentary values, or rates over windows */
    uint64_t max_at_ns;   /* since the start of the run */
    union value last;
    double window; /* collected in the window that is open */
    uint64_t window_ns;
    double closed; /* … and in the one before it */
    uint64_t closed_ns;
    enum coverage coverage;
    bool is_unlimited;           /* of a limit: it was read, and there is none */
    struct histogram *histogram; /* borrowed; NULL: no quantiles */
};

/* The value at elapsed_ns stands for the time since the value before. */
void series_put(struct series *s, const struct metric *m, union value value, uint64_t elapsed_ns);

/* Weight of a value in the distribution, where there is one. */
void series_weigh(struct series *s, const struct metric *m, double value, uint64_t weight);

/* It is known from elsewhere that the value was once as large as this. */
void series_at_least(struct series *s, double value);

/* Close the open window: the run is over. */
void series_end(struct series *s, const struct metric *m, uint64_t elapsed_ns);

/* Time-weighted mean of a gauge; of a counter, its growth per second. */
double series_mean(const struct series *s, const struct metric *m);

/* In the metric's unit (per second for a counter). False when not known. */
bool series_quantile(const struct series *s, const struct metric *m, double share, double *ret);
