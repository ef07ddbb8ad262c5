/* SPDX-License-Identifier: MIT
 * Smallest, largest, mean and standard deviation of numbers as they come. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spread {
    uint64_t count;
    double min, max;
    long double sum;
    double center, squares; /* Welford's: no digits are lost when all are large and alike */
};

/* NAN is no number: it does not count. */
void spread_add(struct spread *s, double value);

/* What can be told of them, in the order and under the names that others know. */
enum statistic { STATISTIC_MIN, STATISTIC_MAX, STATISTIC_MEAN, STATISTIC_STD, STATISTICS };

extern const char *const statistic_names[STATISTICS];

/* NAN without numbers. The deviation is that of the whole, not of a sample of it. */
double spread_get(const struct spread *s, enum statistic which);

/* -EINVAL when there is none of that name. */
int statistic_by_name(const char *name);
