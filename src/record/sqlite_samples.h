/* SPDX-License-Identifier: MIT
 * The samples of a SQLite file, each as a line of a record. */
#pragma once

#include "metric/selection.h"
#include "record/sqlite_figures.h"
#include "summary/run_facts.h"

/* A statement and the meaning of its columns, for each table that the file has. */
struct sqlite_samples {
    struct {
        struct sqlite_statement *statement; /* owned; NULL: there is no such table */
        struct sqlite_figures figures;
        int ended;       /* the column, -1: there is none … */
        int lower_bound; /* … and likewise */
    } of[ENTITY_KINDS + 1];
};

struct sqlite_sample {
    int64_t run;
    uint64_t tick, time_ns, elapsed_ns, interval_ns;
    bool is_last;
    uint64_t is_between; /* not 0: it is */
    uint64_t gpu_count;  /* 0: nobody has told */
    const struct run *facts;
    const struct selection *selection; /* what the run was asked for */
};

int sqlite_samples_init(struct sqlite_samples *x, struct sqlite *db, struct toll_error *e);
void sqlite_samples_done(struct sqlite_samples *x);

/* Adds the line, without newline. */
int sqlite_samples_add(struct sqlite_samples *x, struct buf *b, const struct sqlite_sample *s,
                       struct toll_error *e);
