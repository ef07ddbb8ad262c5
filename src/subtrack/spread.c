/* SPDX-License-Identifier: MIT */
#include "subtrack/spread.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *const statistic_names[STATISTICS] = {"min", "max", "mean", "std"};

int statistic_by_name(const char *name)
{
    for (int i = 0; i < STATISTICS; i++)
        if (strcmp(statistic_names[i], name) == 0)
            return i;
    return -EINVAL;
}

void spread_add(struct spread *s, double value)
{
    if (isnan(value))
        return;
    s->min = s->count && s->min <= value ? s->min : value;
    s->max = s->count && s->max >= value ? s->max : value;
    s->sum += (long double)value;
    s->count++;
    double away = value - s->center;
    s->center += away / (double)s->count;
    s->squares += away * (value - s->center);
}

double spread_get(const struct spread *s, enum statistic which)
{
    if (!s->count)
        return NAN;
    switch (which) {
    case STATISTIC_MIN: return s->min;
    case STATISTIC_MAX: return s->max;
    case STATISTIC_MEAN: return (double)(s->sum / (long double)s->count);
    default: return sqrt(s->squares / (double)s->count);
    }
}
