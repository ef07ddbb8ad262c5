/* SPDX-License-Identifier: MIT */
#include "summary/series.h"

/* ==== Histogram =============================================================================== */

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
static unsigned histogram_bucket(uint64_t value)
{
    if (value < SUB)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
    return ((shift + 1) << HISTOGRAM_BITS) + (unsigned)((value >> shift) - SUB);
}

static uint64_t histogram_middle(unsigned bucket)
{
    if (bucket < SUB)
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_BITS) - 1;
    uint64_t low = (uint64_t)(SUB + (bucket & (SUB - 1))) << shift;
    return low + (BIT(shift) - 1) / 2;
}

static void histogram_release(struct histogram *h)
{
    uint16_t *number = &h->numbers[h->held_bucket / OCTAVE_BUCKETS];
    if (!*number)
        *number = (uint16_t)++h->store->count;
    h->store->octaves[*number - 1].weights[h->held_bucket % OCTAVE_BUCKETS] += h->held;
    h->held = 0;
}

void histogram_add(struct histogram *h, uint64_t value, uint64_t weight)
{
    unsigned bucket = histogram_bucket(value);
    if (h->held && bucket != h->held_bucket)
        histogram_release(h);
    h->held_bucket = bucket;
    h->held += weight;
}

static uint64_t histogram_weight(const struct histogram *h, unsigned bucket)
{
    uint64_t held = bucket == h->held_bucket ? h->held : 0;
    unsigned number = h->numbers[bucket / OCTAVE_BUCKETS];
    if (!number)
        return held;
    return held + h->store->octaves[number - 1].weights[bucket % OCTAVE_BUCKETS];
}

static uint64_t histogram_octave_weight(const struct histogram *h, unsigned octave)
{
    uint64_t weight = 0;
    if (!h->numbers[octave]) /* as most are */
        return h->held_bucket / OCTAVE_BUCKETS == octave ? h->held : 0;
    for (unsigned i = 0; i < OCTAVE_BUCKETS; i++)
        weight += histogram_weight(h, octave * OCTAVE_BUCKETS + i);
    return weight;
}

/* The bucket in which so much of the weight is reached that lies in the octave. */
static unsigned histogram_find_bucket(const struct histogram *h, unsigned octave, uint64_t below)
{
    unsigned bucket = octave * OCTAVE_BUCKETS;
    uint64_t weight = histogram_weight(h, bucket), seen = weight;
    while (!weight || seen < below)
        seen += weight = histogram_weight(h, ++bucket);
    return bucket;
}

bool histogram_quantile(const struct histogram *h, double share, uint64_t *ret)
{
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_OCTAVES; i++)
        total += histogram_octave_weight(h, i);
    uint64_t below = min_u64((uint64_t)(share * (double)total), total); /* a double may round up */
    for (unsigned i = 0; i < HISTOGRAM_OCTAVES; i++) {
        uint64_t weight = histogram_octave_weight(h, i);
        if (weight && seen + weight >= below) {
            *ret = histogram_middle(histogram_find_bucket(h, i, left_u64(below, seen)));
            return true;
        }
        seen += weight;
    }
    return false;
}

/* ==== Series ================================================================================== */

#define SHORTEST_WINDOW_NS (100 * NS_PER_MS)

/* Histograms count in whole numbers: nanoseconds, millionths of a core, bytes. */
static double histogram_scale(const struct metric *m)
{
    if (metric_is_double(m) || m->unit == UNIT_joules)
        return 1e6;
    return m->unit == UNIT_seconds ? 1e9 : 1;
}

/* What is read four times a second comes here when it was read of all processes. No less than
 * SHORTEST_WINDOW_NS. */
static uint64_t shortest_window_ns(const struct metric *m)
{
    bool catches_up = metric_catches_up(m) && m->cost != COST_OFTEN;
    return catches_up ? METRIC_CATCHES_UP_NS : SHORTEST_WINDOW_NS;
}

static bool series_is_windowed(const struct metric *m)
{
    return m->kind == METRIC_COUNTER || m->fold == FOLD_RATE;
}

void series_weigh(struct series *s, const struct metric *m, double value, uint64_t weight)
{
    double scaled = value * histogram_scale(m) + 0.5;
    if (s->histogram && value >= 0 && scaled < 0x1p64) /* a temperature may be below */
        histogram_add(s->histogram, (uint64_t)scaled, weight);
}

static void series_observe(struct series *s, const struct metric *m, double value,
                           uint64_t weight_ns, uint64_t elapsed_ns)
{
    if (!s->count || value > s->max) {
        s->max = value;
        s->max_at_ns = metric_is_high_water(m) ? SERIES_TIME_UNKNOWN : elapsed_ns;
    }
    if (!s->count || value < s->min)
        s->min = value;
    s->count++;
    series_weigh(s, m, value, weight_ns);
}

/* What was used per second: never less than nothing. */
static double window_rate(const struct series *s)
{
    return s->window > 0 ? s->window / ((double)s->window_ns / 1e9) : 0;
}

static void series_close_window(struct series *s, const struct metric *m, uint64_t elapsed_ns)
{
    series_observe(s, m, window_rate(s), s->window_ns, elapsed_ns);
    s->closed = s->window;
    s->closed_ns = s->window_ns;
    s->window = 0;
    s->window_ns = 0;
}

/* A counter of the run begins at zero. At the end, when the parts of a target add up, one of them
 * may stand a little lower than before. */
static double series_growth(const struct metric *m, uint64_t before, uint64_t now)
{
    union value step = {.u = now < before ? before - now : now - before};
    return now < before ? -metric_number(m, step) : metric_number(m, step);
}

/* A counter that stands still, as most do in most samples, costs no arithmetic. */
void series_put(struct series *s, const struct metric *m, union value value, uint64_t elapsed_ns)
{
    uint64_t interval_ns = left_u64(elapsed_ns, s->observed_ns);
    bool is_counter = m->kind == METRIC_COUNTER;
    s->observed_ns = elapsed_ns;
    if (!is_counter || value.u != s->last.u) {
        double amount = is_counter ? series_growth(m, s->last.u, value.u) /* over the interval */
                                   : metric_number(m, value) * ((double)interval_ns / 1e9);
        s->last = value;
        s->weighted += amount;
        if (!series_is_windowed(m)) {
            series_observe(s, m, metric_number(m, value), max_u64(interval_ns, 1), elapsed_ns);
            return;
        }
        s->window += amount;
    }
    s->window_ns += interval_ns;
    if (s->window_ns >= SHORTEST_WINDOW_NS && s->window_ns >= shortest_window_ns(m))
        series_close_window(s, m, elapsed_ns);
}

bool series_observed_at(const struct series *s, const struct metric *m, uint64_t elapsed_ns,
                        double *ret)
{
    if (s->observed_ns != elapsed_ns || (series_is_windowed(m) && (s->window_ns || !s->closed_ns)))
        return false;
    *ret = !series_is_windowed(m) ? metric_number(m, s->last)
           : s->closed > 0        ? s->closed / ((double)s->closed_ns / 1e9)
                                  : 0;
    return true;
}

void series_at_least(struct series *s, double value)
{
    if (s->count && value <= s->max)
        return;
    s->max = value;
    s->max_at_ns = SERIES_TIME_UNKNOWN;
    if (!s->count++)
        s->min = value;
}

static void end_window(struct series *s, const struct metric *m, uint64_t elapsed_ns)
{
    uint64_t rest_ns = s->window_ns;
    /* A short rest says little alone; left out, a peak could be below the mean. */
    if (rest_ns < shortest_window_ns(m) / 2) {
        s->window += s->closed;
        s->window_ns += s->closed_ns;
    }
    series_observe(s, m, window_rate(s), rest_ns, elapsed_ns);
    s->window = 0;
    s->window_ns = 0;
}

void series_end(struct series *s, const struct metric *m, uint64_t elapsed_ns)
{
    if (s->window_ns)
        end_window(s, m, elapsed_ns);
    s->min = buf_double_again(s->min, SERIES_DECIMALS);
    s->max = buf_double_again(s->max, SERIES_DECIMALS);
    s->at_peak = buf_double_again(s->at_peak, SERIES_DECIMALS);
}

double series_mean(const struct series *s, const struct metric *m)
{
    double mean = s->observed_ns ? s->weighted / ((double)s->observed_ns / 1e9)
                                 : metric_number(m, s->last);
    return buf_double_again(mean, SERIES_DECIMALS);
}

bool series_quantile(const struct series *s, const struct metric *m, double share, double *ret)
{
    uint64_t value;
    if (!s->histogram || !histogram_quantile(s->histogram, share, &value))
        return false;
    /* The middle of a bucket may lie outside of what was seen. */
    double middle = (double)value / histogram_scale(m);
    *ret = middle < s->min ? s->min : middle > s->max ? s->max : middle;
    return true;
}
