/* SPDX-License-Identifier: MIT
 * What a tracking session used, over all and in each of its code blocks: from a file with a row for
 * each time point and one with the calls, or from what was written of an earlier analysis. No
 * column is known here: the figures are those that the file has. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

#include <stddef.h>
#include <stdint.h>

/* ==== Spread ================================================================================== */

/* Smallest, largest, mean and standard deviation of numbers as they come. */

struct spread {
    uint64_t count;
    double min, max;
    long double sum;
    double center, squares; /* Welford's: no digits are lost when all are large and alike */
};

/* NAN is no number: it does not count. */
void spread_add(struct spread *s, double value);

/* The statistics, in the order and under the names of gpu-tracker. */
enum statistic { STATISTIC_MIN, STATISTIC_MAX, STATISTIC_MEAN, STATISTIC_STD, STATISTICS };

extern const char *const statistic_names[STATISTICS];

/* NAN without numbers. The deviation is that of the whole, not of a sample of it. */
double spread_get(const struct spread *s, enum statistic which);

/* -EINVAL when there is none of that name. */
int statistic_by_name(const char *name);

/* ==== Analysis ================================================================================ */

/* A fact that holds for the whole session: its unit of RAM, its number of cores. */
struct session_fact {
    char *name; /* owned */
    char *text; /* owned */
    bool is_number, is_integer;
    double number;
};

/* Whether a number that was written so is whole; larger ones than a double holds exactly are not.
 */
static inline bool session_fact_is_integer(const char *text, double number)
{
    return !strpbrk(text, ".eE") && number >= -0x1p53 && number <= 0x1p53;
}

/* Of one figure, by enum statistic. */
struct usage {
    double of[STATISTICS];
    bool is_integer[STATISTICS]; /* was read as a whole number, and is written as one */
};

struct block_results {
    char *name; /* owned */
    uint64_t timepoints, calls, non_empty_calls;
    struct usage compute_time; /* of a call, in seconds */
    double total_time;
    struct usage *usage; /* owned: of each figure */
};

struct analysis {
    char **figures; /* owned names */
    size_t figure_count;
    struct usage *overall;      /* owned: of each figure */
    struct session_fact *facts; /* owned */
    size_t fact_count;
    struct block_results *blocks; /* owned */
    size_t block_count;
};

/* blocks NULL: the session alone. */
int analysis_make(struct analysis *ret, const char *points, const char *blocks,
                  struct toll_error *e);
void analysis_done(struct analysis *a);

/* As gpu-tracker writes them; reading takes what was written. */
void analysis_write_text(struct buf *b, const struct analysis *a);
void analysis_write_json(struct buf *b, const struct analysis *a);
int analysis_read_json(struct analysis *ret, const char *path, struct toll_error *e);

/* ==== Comparison ============================================================================== */

/* Several tracking sessions side by side: one statistic of each figure, over all and in each code
 * block, the smallest first. Blocks are the same when their names are, or when they differ by the
 * number of the line alone ("main.py:12" and "main.py:14") and have the same place. */

struct comparison {
    const char *const *names;  /* of the sessions, borrowed */
    struct analysis *sessions; /* borrowed; their blocks are put in order */
    size_t count;
    enum statistic statistic;
    size_t first; /* set by comparison_match: the one that the others are matched with, which is the
                     first by name */
};

/* Puts the blocks in order and checks that they match. note is called for those that match but for
 * the line; may be NULL. */
int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e);

void comparison_write_text(struct buf *b, const struct comparison *c);
void comparison_write_json(struct buf *b, const struct comparison *c);
