/* SPDX-License-Identifier: MIT
 * Runs as toll list shows them: list.c reads them, list_jobs.c makes one of the ranks of a job,
 * list_table.c draws the table. */
#pragma once

#include "base/text/buf.h"
#include "cli/options.h"

#include <math.h>

/* A run as the table and JSON need it. Strings are owned. */
struct listed_run {
    const struct settings *settings; /* borrowed: how runs are sorted */
    char *path;                      /* of its record */
    char *shown;  /* the record as the table shows it: without the directory that was named */
    size_t order; /* in which runs were found */
    char *id, *name, *host, *version;
    char *job_id, *array_index, *rank, *local_rank, *world_size, *launch; /* "": unknown */
    char **command, **attached_to, **labels;                              /* NULL-terminated */
    struct toll_end end;
    struct toll_summary used;
    uint64_t number, start_ns, samples;
    bool cut_short, may_be_running;
    bool has_siblings;     /* its record has several runs */
    uint64_t record_bytes; /* size of the record; 0: unknown */
    size_t ranks;      /* of a parallel job that this run stands for; 0: it is one run */
    size_t bad_ranks;  /* … that failed, or whose record lacks the end */
    size_t records;    /* … that they are in */
};

struct list {
    const struct settings *settings;
    struct listed_run *runs; /* owned */
    size_t count, capacity;
    size_t seen;        /* runs that were read, whether or not they match */
    size_t records;     /* that had at least one */
    const char *path;   /* of the record that is read */
    const char *shown;  /* … in the table */
    uint64_t in_record; /* runs of it so far */
    bool has_no_memory;
};

void listed_run_done(struct listed_run *r);

/* A lower bound of zero says nothing. */
bool list_is_known(double value, enum toll_quality quality);

/* The exit status as in a shell; unknown: NAN. */
double run_exit(const struct listed_run *r);

/* Replaces the ranks of each parallel job by one run: the time of the longest, the CPU time of all,
 * the memory of the largest, the end of the first that failed. False: no memory. */
bool list_merge_ranks(struct list *l);

/* The first runs, for people. */
void list_as_table(const struct list *l, size_t count, struct buf *b);
