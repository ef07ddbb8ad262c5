/* SPDX-License-Identifier: MIT
 * A number as it stands in JSON, without a loss, and what programs make of it. */
#pragma once

#include "base/scan.h"

/* As it is written: digits times ten to the power of the exponent. */
struct json_number {
    bool negative;
    bool is_cut; /* there were more digits than are kept: those are in the exponent */
    uint64_t digits;
    int exponent;
};

/* As RFC 8259 has it. */
bool json_number_take(struct scan *s, struct json_number *ret);

/* In units of 10^-decimals (nanoseconds: 9), rounded. False when it is negative or does not fit. */
bool json_number_u64(const struct json_number *n, unsigned decimals, uint64_t *ret);

/* The nearest double. False when it is too large for one. */
bool json_number_double(const struct json_number *n, double *ret);
