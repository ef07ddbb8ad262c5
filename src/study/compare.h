/* SPDX-License-Identifier: MIT
 * Groups of runs that are compared with the first of them: the model that all forms show. */
#pragma once

#include "sink/report/report.h"
#include "study/study.h"

/* Of the intervals: all of the figures of a verdict together, and all others together, contain the
 * real change with this probability. */
#define COMPARE_CONFIDENCE 0.99

/* Below that many runs in each group an interval is rough. */
enum { COMPARE_TRUSTED_RUNS = 5 };

/* CPU and memory over time, of one run. */
struct compare_curve {
    struct chart_series cores, memory; /* with the windows of a report's charts */
};

struct compare_group {
    char *text;  /* owned: as it was given */
    char *shown; /* owned: in tables and sentences, printable */
    struct study_runs runs;
    bool *is_used; /* owned: of each run. Others have failed or lack their end */
    size_t used;
    struct compare_curve *curves; /* owned, in the order of the runs; or NULL */
    size_t curve_count, curve_capacity;
    bool is_path;     /* it was given as a record or a directory */
    bool is_none_yet; /* no run has the name or the labels, which were looked up where all are */
};

/* One figure of one group. */
struct compare_cell {
    struct statistics of;
    enum quality quality; /* the worst of those that are known; unknown: of none */
    size_t runs;          /* of the group; of.count of them know it */
    size_t *outliers;     /* owned: numbers of runs in the group */
    size_t outlier_count;
};

enum compare_result {
    COMPARE_SHOWN,     /* a difference */
    COMPARE_NOT_SHOWN, /* the interval includes 0 */
    COMPARE_SINGLE,    /* one run each: no interval */
    COMPARE_BOUND,     /* lower bounds: nothing can be said */
    COMPARE_UNKNOWN,   /* in one of the groups */
    COMPARE_ZERO,      /* 0 in both */
};

/* How a group differs from the first. */
struct compare_change {
    enum compare_result result;
    struct difference difference;
    bool is_at_least; /* shown, and the real change is even larger: a lower bound is involved */
    bool is_same;     /* not shown, and the whole interval is within 2 % */
};

/* A line of the tables: a figure of the whole run or of a phase. */
struct compare_row {
    const char *phase; /* borrowed; NULL: the whole run */
    enum study_figure figure;
    struct compare_cell *cells;     /* owned, one for each group */
    struct compare_change *changes; /* owned; the first is not used */
};

struct compare_judgement {
    struct toll_judgement judgement; /* strings owned by the two below */
    char *condition, *sentence;
    size_t group;
};

struct toll_compared {
    struct compare_group *groups; /* owned */
    size_t group_count;
    struct compare_row *rows; /* owned: figures of the run first, then phases */
    size_t row_count, row_capacity;
    struct compare_judgement *judgements; /* owned */
    size_t judgement_count, judgement_capacity;
    char **notes; /* owned sentences, NULL-terminated; or NULL */
    size_t note_count;
    double alpha_main, alpha_other; /* of one interval */
};

/* Fills in rows and notes from the groups, whose runs were read. 0 or -ENOMEM. */
int compare_groups(struct toll_compared *c);

/* The figures that a verdict names. */
bool compare_is_main(const struct compare_row *r);

/* One sentence: how the group differs from the first. */
void compare_put_verdict(struct buf *b, const struct toll_compared *c, size_t group);

/* "+12 %"; nothing when the baseline is 0 or reads as 0. */
void compare_put_percent(struct buf *b, const struct compare_row *r, double change);

/* In compare_forms.c. */
void compare_put_text(struct buf *b, const struct toll_compared *c, unsigned flags,
                      unsigned columns);
void compare_put_markdown(struct buf *b, const struct toll_compared *c);
void compare_put_json(struct buf *b, const struct toll_compared *c);
void compare_put_html(struct buf *b, const struct toll_compared *c);

/* Of the runs of a group, for a condition. */
struct condition_side compare_side(const struct compare_cell *cell);

/* Where the runs of a group are: "RECORD:2", "name=build,branch=main". */
struct compare_place {
    char *path;          /* owned */
    char *text;          /* owned: what the filter borrows */
    const char **labels; /* owned */
    struct study_filter filter;
    bool is_path; /* all runs of a record or a directory */
    bool is_here; /* the text names no record and no directory */
};

/* Reads the runs of a group and chooses those that are used. */
int compare_group_read(struct compare_group *g, const char *text, const struct toll_compare *asked,
                       bool names_runs, struct toll_error *e);
void compare_group_done(struct compare_group *g);

/* The cell of a figure; phase NULL: of the whole run. False without memory. */
bool compare_cell_fill(struct compare_cell *cell, const struct compare_group *g, const char *phase,
                       enum study_figure figure);

/* Whether it names a file or a directory rather than runs. */
bool compare_is_path(const char *text);

/* As many as there are texts; the caller frees them. 0 or -errno and a sentence. */
int compare_parse_conditions(const char *const *texts, struct condition **ret,
                             struct toll_error *e);

/* It ended, and not with exit status 0. */
bool compare_run_failed(const struct study_run *r);
