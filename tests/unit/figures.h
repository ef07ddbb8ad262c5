/* SPDX-License-Identifier: MIT
 * What a row has to say. */
#pragma once

#include "metric/metric.h"
#include "unit.h"

#define assert_value(row, id, expected)                                                            \
    do {                                                                                           \
        assert_true(row_has(row, id));                                                             \
        assert_int_equal(row_u64(row, id), expected);                                              \
    } while (0)
#define assert_number(row, id, expected)                                                           \
    do {                                                                                           \
        assert_true(row_has(row, id));                                                             \
        assert_float_equal(row_value(row, id).d, expected, 1e-9);                                  \
    } while (0)
#define assert_unknown(row, id) assert_false(row_has(row, id))
