/* SPDX-License-Identifier: MIT
 * The ranks of a parallel job as one: figures of each, what they come to together, and where they
 * differ. study/runs.c makes it from the records, one rank after the other; a rank takes about 4 KB
 * however long it ran. */
#pragma once

#include "sink/report/report.h"

enum { JOB_COLUMNS = 256 };

/* Figures of one rank over time. Columns are 2^shift nanoseconds wide and begin at multiples of
 * that since 1970, so that those of all ranks match. Zeroed is empty. */
struct rank_curve {
    unsigned shift;
    unsigned count;
    uint64_t first;                 /* number of the first column */
    float cpu_seconds[JOB_COLUMNS]; /* CPU time in the column */
    float memory[JOB_COLUMNS];      /* resident bytes times seconds */
    float memory_peak[JOB_COLUMNS]; /* the most resident bytes in the column */
};

/* Usage from from_ns until until_ns, since 1970. A value that is not known is 0. */
void rank_curve_add(struct rank_curve *c, uint64_t from_ns, uint64_t until_ns, double cpu_seconds,
                    double memory_bytes);

enum job_figure { JOB_WALL, JOB_CPU, JOB_MEMORY, JOB_READ, JOB_WRITTEN, JOB_FIGURES };

extern const struct job_figure_kind {
    const char *title;
    enum metric_id unit;
    bool has_sum; /* otherwise a sum has no meaning */
} job_figures[JOB_FIGURES];

/* One rank. Strings are borrowed. */
struct job_rank {
    const char *rank, *host, *record, *id;
    uint64_t start_ns, end_ns; /* since 1970 by its own clock */
    struct toll_end end;
    bool cut_short; /* its record lacks the end */
    bool is_slow;   /* it took 1.25 times the median of all ranks, and a second more */
    struct {
        double value;
        enum quality quality; /* unknown: no value */
    } figures[JOB_FIGURES];
    struct rank_curve *curve; /* borrowed; NULL: no samples. report_job_finish gives those of all
                                 ranks the columns of the job */
    unsigned host_number;
};

/* A figure of all ranks that have it. */
struct job_statistic {
    size_t known;
    double min, mean, max, sum;
    const char *min_rank, *max_rank; /* borrowed */
    bool is_least;                   /* of one of them only a lower bound is known */
    bool sum_is_least;               /* or a rank is missing in it */
};

/* What the ranks of a host, or all of them, used at the same time: the maximum over time of their
 * sum, which is not the sum of their maxima. Within a column of time it is not known at which
 * moment a rank used most: it is between low and high. */
struct job_together {
    double memory_low, memory_high;
    double memory_peaks; /* the sum of the maxima, for comparison */
    double cores;        /* the most of a column, on average over the column */
};

struct job_host {
    const char *name; /* borrowed */
    size_t ranks;
    struct job_together used;
    double ahead_seconds; /* of the host of the first rank, at the start and at the end alike */
    double ahead_error;   /* seconds, half of how much both differ */
    bool is_ahead;        /* by more than that: its times are shifted */
    bool knows_ahead;     /* one of its ranks has ended by itself */
};

struct report_job {
    const char *name, *job_id, *array_index, *launcher; /* borrowed; "" unknown */
    const char *keys[JOB_FIGURES];                      /* of the figures in JSON, borrowed */
    size_t world_size;                                  /* 0: unknown */
    struct job_rank *ranks;                             /* owned, by number */
    size_t count;
    struct job_host *hosts; /* owned, in the order of their first ranks */
    size_t host_count;
    struct job_statistic figures[JOB_FIGURES];
    struct job_together together;
    double imbalance; /* of CPU time: max / mean - 1; NAN: unknown */
    unsigned shift, columns;
    uint64_t first;                     /* number of the first column */
    float imbalance_over[JOB_COLUMNS];  /* NAN: the ranks were idle */
    float cores_over[JOB_COLUMNS];      /* of all ranks together */
    float memory_over[JOB_COLUMNS];     /* … the largest, of all ranks together */
    unsigned imbalance_at;              /* the column with most; columns: none */
    double start_skew, end_skew;        /* seconds between the first and the last */
    const char *last_start, *first_end; /* ranks, borrowed */
    size_t missing_count;               /* ranks without a record */
    struct buf missing;                 /* which: "2, 5-7"; the first hundred of such parts */
};

/* Completes the job from its ranks, which are sorted here. False: no memory. */
bool report_job_finish(struct report_job *j);
void report_job_done(struct report_job *j);

/* Whether it ended by a signal, with an error, or without an end. */
bool job_rank_is_bad(const struct job_rank *r);

/* "exit 0", "SIGKILL", "cut off" */
void job_rank_put_end(const struct job_rank *r, struct buf *b);

/* Findings about the ranks: uneven work, and ranks that are missing, failed or slow. */
void report_job_find(const struct report_job *j, struct report_findings *ret);

/* What ran: "solver: 4 ranks on 2 hosts". */
void report_job_put_title(const struct report_job *j, struct buf *b);

/* The forms; NULL in a form that shows one run. */
void job_text(struct sink *s, const struct report_job *j);
void job_markdown(struct sink *s, const struct report_job *j);
void job_html(struct sink *s, const struct report_job *j);
void job_json(struct sink *s, const struct report_job *j);
