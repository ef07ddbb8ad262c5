/* SPDX-License-Identifier: MIT
 * Used everywhere: array length, cleanup at the end of a scope, hand-over of descriptors, sums. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(n)       (UINT64_C(1) << (n))

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS     UINT64_C(1000000)
#define NS_PER_US     UINT64_C(1000)

#define PRINTF_LIKE(at, args) __attribute__((format(printf, at, args)))

static inline void free_p(void *p)
{
    free(*(void **)p);
}

static inline void close_p(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

#define CLEANUP_FREE  __attribute__((cleanup(free_p)))
#define CLEANUP_CLOSE __attribute__((cleanup(close_p)))

/* Hands a descriptor over: the variable no longer owns it. */
static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* fmin and fmax would need libm, which takes a fiftieth of the start to load. Neither is NaN. */
static inline double min_double(double a, double b)
{
    return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
    return a > b ? a : b;
}

/* True when something precedes the suffix, too. */
static inline bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
}

/* a + b, or the largest number, which as a time never comes. */
static inline uint64_t sum_u64(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* a - b, or 0. */
static inline uint64_t left_u64(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* How much a counter grew since *last, which is raised to now. The kernel adds some counters up
 * over CPUs without a lock, so that they read a little lower at times: such a counter has not
 * grown, and counts on where it was. row_hold_u64 is the same for a figure. */
static inline uint64_t counter_growth(uint64_t *last, uint64_t now)
{
    uint64_t growth = left_u64(now, *last);
    *last += growth;
    return growth;
}

/* Without libm, which the library does not link. 0 for what has none: negative numbers and NaN. */
static inline double square_root(double x)
{
    if (!(x > 0) || x > 0x1p1022)
        return x > 0 ? x : 0; /* as large as they get: infinite, in effect */
    uint64_t bits = 0;
    double root = 0;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 1) + UINT64_C(0x1FF8000000000000); /* half the exponent: within 6 % */
    memcpy(&root, &bits, sizeof root);
    for (int i = 0; i < 6; i++) /* each step doubles the number of good digits */
        root = (root + x / root) / 2;
    return root;
}
