/* SPDX-License-Identifier: MIT
 * All points of a batch in one array, for those who send each series once with its samples. */
#pragma once

#include "sink/courier.h"
#include "sink/points.h"

struct placed_point {
    uint64_t series;
    uint64_t number; /* in the order they came */
    int64_t time_ms;
    double value;
};

struct point_batch {
    struct placed_point *items; /* owned, used again */
    size_t count, capacity;
};

/* In the place of what it had. 0 or -ENOMEM. */
int point_batch_take(struct point_batch *p, const struct batch *b);

/* By series, each in the order of time. */
void point_batch_sort(struct point_batch *p);

/* Whether it marks the end of its series. */
bool point_is_end(double value);

void point_batch_done(struct point_batch *p);
