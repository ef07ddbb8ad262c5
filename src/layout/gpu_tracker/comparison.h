/* SPDX-License-Identifier: MIT
 * Several tracking sessions side by side: one statistic of each figure, over all and in each code
 * block, the smallest first. Blocks are the same when their names are, or when they differ by the
 * number of the line alone ("main.py:12" and "main.py:14") and stand in the same order. */
#pragma once

#include "layout/gpu_tracker/analysis.h"

struct comparison {
    const char *const *names;  /* of the sessions, borrowed */
    struct analysis *sessions; /* borrowed; their blocks are put in order */
    size_t count;
    enum statistic statistic;
    size_t first; /* set by comparison_match: the one that the others are matched with, which is the
                     first by name */
};

/* Puts the blocks in order and sees whether they match. note: told of those that match but for the
 * line; may be NULL. */
int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e);

void comparison_write_text(struct buf *b, const struct comparison *c);
void comparison_write_json(struct buf *b, const struct comparison *c);
