/* SPDX-License-Identifier: MIT
 * What the unit tests share. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "toll_compat.h"

/* A figure of a frame that is known to have such a column. */
static inline double frame_value(const struct toll_frame *frame, const char *name)
{
    double value = 0;
    assert_int_equal(toll_frame_get(frame, name, &value), 0);
    return value;
}

/* The text in a block of exactly its size, so that a read past its end is found by ASan.
 * The caller frees. */
static inline char *exact_copy(const char *text, size_t length)
{
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

/* The next number of a sequence that is the same in every run. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *seed, uint64_t limit)
{
    return next_random(seed) % limit;
}

/* Of every magnitude: as many numbers of 3 bits as of 60. */
static inline uint64_t random_magnitude(uint64_t *seed, unsigned bits)
{
    return next_random(seed) >> (64 - random_below(seed, bits) - 1);
}

/* Whether nothing was written to an output that had been filled with UNTOUCHED. */
enum { UNTOUCHED = 0xA5 };

static inline bool is_untouched(const void *output, size_t size)
{
    const unsigned char *bytes = output;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != UNTOUCHED)
            return false;
    return true;
}

/* Defines NAME_parse, which hands an exact copy to the parser and insists that a failure leaves the
 * output alone, and NAME_check_cuts: a text cut anywhere gives an error or the values of the whole,
 * never others. `same` compares two results. */
#define PARSER_HARNESS(name, function, type, same)                                                 \
    static int name##_parse_n(const char *text, size_t length, type *ret)                          \
    {                                                                                              \
        char *copy = exact_copy(text, length);                                                     \
        memset(ret, UNTOUCHED, sizeof *ret);                                                       \
        int r = function(scan_text(copy, length), ret);                                            \
        free(copy);                                                                                \
        assert_true(r == 0 || is_untouched(ret, sizeof *ret));                                     \
        return r;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static int name##_parse(const char *text, type *ret)                                           \
    {                                                                                              \
        return name##_parse_n(text, strlen(text), ret);                                            \
    }                                                                                              \
                                                                                                   \
    static void name##_check_cuts(const char *text, int when_empty)                                \
    {                                                                                              \
        type whole, cut;                                                                           \
        assert_int_equal(name##_parse(text, &whole), 0);                                           \
        assert_int_equal(name##_parse_n(text, 0, &cut), when_empty);                               \
        for (size_t length = 1; length < strlen(text); length++) {                                 \
            int r = name##_parse_n(text, length, &cut);                                            \
            if (r == 0)                                                                            \
                assert_true(same(&whole, &cut));                                                   \
            else                                                                                   \
                assert_int_equal(r, -EBADMSG);                                                     \
        }                                                                                          \
    }

/* For results without padding. */
#define SAME_BYTES(a, b) (memcmp(a, b, sizeof *(a)) == 0)

#define RUN(group, tests) cmocka_run_group_tests_name(group, tests, NULL, NULL)
