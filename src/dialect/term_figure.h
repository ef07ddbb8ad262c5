/* SPDX-License-Identifier: MIT
 * The figure that the terms of a column come to in one row. */
#pragma once

#include "dialect/translation.h"

/* What one row is of. */
struct row_of {
    const struct dialect_source *source;
    size_t target; /* as in a place */
    size_t thing;
    enum dialect_each each;
    bool has_ended; /* the processes of the target */
};

/* Whether there is a target, or the machine alone. */
bool row_has_target(const struct row_of *r);

/* How many processes of the target live, NAN when it is not known. */
double row_living(const struct row_of *r, enum part part);

/* A sum that leaves something out is none: one term that is not known makes it unknown. step: rows
 * that were before. */
double terms_figure(const struct row_of *r, const struct terms *terms, enum dialect_take take,
                    uint64_t step);

/* Whether one of them is known of some processes alone, because others could not be read. */
bool terms_are_partial(const struct row_of *r, const struct terms *terms);

/* What is read seldom is what it was when it was read last, age seconds ago; but of a target only
 * while it lives, and while all of it can be read. */
bool terms_may_hold(const struct row_of *r, const struct terms *terms, double age);
