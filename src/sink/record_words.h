/* SPDX-License-Identifier: MIT
 * Words of the record that its writer and its reader share. */
#pragma once

#include "metric/limits.h"
#include "metric/process.h"
#include "summary/phases.h"
#include "summary/summary.h"

#define RECORD_SCHEMA  "toll.record/1"
#define SUMMARY_SCHEMA "toll.summary/1"

/* "status" of an end. */
enum end_status { END_RUNNING, END_EXITED, END_SIGNALED, END_UNKNOWN, END_STATUSES };
extern const char *const record_words_end[END_STATUSES];

/* "left" of a process. */
extern const char *const record_words_left[DEPARTURES];

/* "way" of an output. */
extern const char *const record_words_way[OUTPUT_WAYS];

/* "type" of a mark's line; NULL: it has none. */
extern const char *const record_words_mark[MARK_KINDS];

/* Keys of "limits". */
extern const char *const record_words_limit[LIMITS];

/* Quantiles of a gauge, in rising order. */
enum { RECORD_QUANTILES = 3 };
struct record_quantile {
    const char *key;
    double share;
};
extern const struct record_quantile record_words_quantile[RECORD_QUANTILES];
