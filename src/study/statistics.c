/* SPDX-License-Identifier: MIT
 * Statistics of repeated runs: spread, outliers, the difference of two groups. Without libm. */
#include "study/study.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* Sorts the values. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_numbers);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

int statistics_of(const double *values, size_t count, struct statistics *ret)
{
    struct statistics s = {.count = count};
    if (!count) {
        *ret = s;
        return 0;
    }
    double *sorted = calloc(count, sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, values, count * sizeof *sorted);
    s.median = median_of(sorted, count);
    s.min = sorted[0];
    s.max = sorted[count - 1];
    /* Distances from the median are small beside the values: no digits are lost in the sums. */
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += sorted[i] - s.median;
    double shift = sum / (double)count;
    s.mean = s.median + shift;
    for (size_t i = 0; i < count; i++) {
        double d = sorted[i] - s.median - shift;
        squares += d * d;
    }
    s.sd = count > 1 ? square_root(squares / (double)(count - 1)) : 0;
    free(sorted);
    *ret = s;
    return 0;
}

int statistics_outliers(const double *values, size_t count, bool *is_outlier)
{
    enum { FEWEST = 5 };
    const double limit = 3.5, least_share = 0.01;
    if (count)
        memset(is_outlier, 0, count * sizeof *is_outlier);
    if (count < FEWEST)
        return 0;
    double *room = calloc(count, sizeof *room);
    if (!room)
        return -ENOMEM;
    memcpy(room, values, count * sizeof *room);
    double median = median_of(room, count), sum = 0;
    for (size_t i = 0; i < count; i++) {
        room[i] = distance(values[i], median);
        sum += room[i];
    }
    double mad = median_of(room, count);
    /* Both estimate the standard deviation of normal values. */
    double spread = mad > 0 ? mad / 0.6745 : 1.253314 * sum / (double)count;
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        double d = distance(values[i], median);
        is_outlier[i] = d > limit * spread && d > least_share * distance(median, 0);
        found += is_outlier[i];
    }
    free(room);
    return found;
}

/* ==== Student's t ============================================================================= */

#define PI 3.14159265358979323846 /* M_PI is not in ISO C */

/* Of x >= 0. Two halvings of the angle bring it below 0.4, where the series converges fast. */
static double arc_tangent(double x)
{
    for (int i = 0; i < 2; i++)
        x = x / (1 + square_root(1 + x * x));
    double power = x, sum = 0;
    for (int i = 0; i < 24; i++) {
        sum += (i % 2 ? -power : power) / (2 * i + 1);
        power *= x * x;
    }
    return 4 * sum;
}

/* The probability of |T| > t for whole degrees of freedom (Abramowitz and Stegun 26.7.3, .4). */
static double student_outside(double t, unsigned freedom)
{
    double n = freedom, cos2 = n / (n + t * t), sine = t / square_root(n + t * t);
    if (freedom == 1)
        return 1 - 2 / PI * arc_tangent(t);
    bool is_odd = freedom % 2;
    double term = is_odd ? square_root(cos2) : 1, sum = 0;
    for (unsigned i = is_odd ? 3 : 2; i <= freedom; i += 2) {
        sum += term;
        term *= cos2 * (double)(i - 1) / (double)i;
    }
    double inside = is_odd ? 2 / PI * (arc_tangent(t / square_root(n)) + sine * sum) : sine * sum;
    return 1 - inside;
}

double student_quantile(double freedom, double alpha)
{
    enum { MOST = 400 };
    freedom = freedom >= 1 ? freedom : 1; /* NaN, too */
    if (freedom > MOST)
        freedom = MOST;
    unsigned below = (unsigned)freedom;
    /* Between two whole numbers the distribution is nearly linear in 1 / freedom. */
    double weight = (1.0 / below - 1 / freedom) / (1.0 / below - 1.0 / (below + 1));
    double low = 0, high = 1;
    while (high < 1e10 && student_outside(high, below) > alpha)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double t = (low + high) / 2, outside = student_outside(t, below);
        if (weight > 0)
            outside += weight * (student_outside(t, below + 1) - outside);
        *(outside > alpha ? &low : &high) = t;
    }
    return high;
}

/* ==== Differences ============================================================================= */

struct difference statistics_difference(const struct statistics *a, const struct statistics *b,
                                        double alpha, double least_sd)
{
    struct difference d = {.change = b->mean - a->mean};
    d.low = d.high = d.change;
    if (!a->count || !b->count || (a->count < 2 && b->count < 2))
        return d;
    double sd_a = a->count > 1 ? a->sd : b->sd, sd_b = b->count > 1 ? b->sd : a->sd;
    sd_a = sd_a > least_sd ? sd_a : least_sd;
    sd_b = sd_b > least_sd ? sd_b : least_sd;
    double error_a = sd_a * sd_a / (double)a->count, error_b = sd_b * sd_b / (double)b->count;
    double error = error_a + error_b;
    d.has_interval = true;
    if (a->count < 2 || b->count < 2)
        d.freedom = (double)(a->count + b->count - 2);
    else if (error > 0)
        d.freedom = error * error /
                    (error_a * error_a / (double)(a->count - 1) +
                     error_b * error_b / (double)(b->count - 1));
    else
        d.freedom = (double)(a->count + b->count - 2);
    double margin = student_quantile(d.freedom, alpha) * square_root(error);
    d.low -= margin;
    d.high += margin;
    d.is_shown = d.low > 0 || d.high < 0;
    return d;
}
