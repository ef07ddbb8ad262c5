/* SPDX-License-Identifier: MIT
 *
 * Calls for layers that imitate other tools: their columns, their files, their command lines.
 *
 * NOT STABLE: everything in this header may change in any release, without a new soname. Programs
 * that measure use toll.h alone; struct toll_output there takes the name of a layout.
 */
#ifndef TOLL_COMPAT_H
#define TOLL_COMPAT_H

#include "toll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Layouts: names and units of other tools ----------------------------------------------- */

/* A layout writes toll's figures with the columns, units and order of another tool. It is named
 * with its options: "resource-tracker", "process-metrics,samples=5". A value that is not known is
 * empty or null, as that tool has it; what the machine does not have is 0 where that tool writes 0.
 * docs/layouts.md describes them. */
struct toll_layout {
    const char *name;
    const char *formats;  /* formats that have it, separated by blanks */
    const char *help;     /* for people */
    uint64_t interval_ns; /* default time between samples of that tool; 0: it has none */
    const char *series;   /* those of its formats that have a row for each sample; NULL: none */
};

/* The i-th layout; NULL after the last. */
const struct toll_layout *toll_layout_at(size_t i);

/* One option of a layout. No string is NULL. */
struct toll_layout_option {
    const char *name;
    const char *value;    /* default; "" when it depends on the machine */
    const char *accepted; /* words separated by blanks, "NUMBER" or "TEXT" */
    const char *help;
};

/* The i-th option of a layout; NULL after the last, and if there is no such layout. */
const struct toll_layout_option *toll_layout_option_at(const char *layout, size_t i);

/* One column or key of a layout, and what it is made of. No string is NULL. */
struct toll_layout_column {
    const char *format;  /* csv, jsonl, … */
    const char *columns; /* the value of the option "columns" it belongs to, or "" */
    const char *subject; /* target or machine, if there is a set for each; or "" */
    const char *file;    /* its file, if the layout writes several into a directory; or "" */
    const char *name;
    const char *label; /* in text, or "" */
    const char *terms; /* toll's figures, with signs between; @… is a fact, =… an option */
    const char *take;  /* value, delta, rate, total, max, mean or share */
    const char *type;  /* integer, float or text */
    double factor;     /* from toll's unit to theirs, before options */
    unsigned decimals; /* at most this many; 0: all that the number has */
    bool optional;     /* left out when it is 0 or not known */
    const char *scale; /* the option that sets the unit, or "" */
    const char *per;   /* the option or figures that it is divided by, or a share of; or "" */
};

/* The i-th column of all formats of a layout; NULL after the last. */
const struct toll_layout_column *toll_layout_column_at(const char *layout, size_t i);

/* ---- Frames in a layout -------------------------------------------------------------------- */

/* Turns frames into rows of a layout. */
struct toll_translator;

/* layout: as in an output. The table is that of the layout's first format with samples, for a
 * target or for the machine, as the first frame has. The caller frees it. */
int toll_translator_new(struct toll_translator **ret, const char *layout, struct toll_error *e);

/* Set a fact that frames lack: "pid" of the main process, "group" of the target, "cpus"; "since" is
 * 1 when counters count from before the first frame. For frames of toll_snapshot set "elapsed"
 * before each, the seconds since the first. -EINVAL: no such fact. */
int toll_translator_set_fact(struct toll_translator *tr, const char *fact, double value);

/* The next frame. Returns the number of rows: one, or one for each target; 0 while a row is made of
 * several samples. -EINVAL: the layout has no table for such frames. */
int toll_translator_frame(struct toll_translator *tr, const struct toll_frame *frame);

/* The i-th column, with the prefix that options set; NULL after the last and before the first
 * frame. It lives as long as the translator. */
const char *toll_translator_column(const struct toll_translator *tr, size_t i);

/* A cell: as a number, NAN when it is not known or is text; and as the layout writes it, NULL when
 * it is not known, valid until the next call. */
double toll_translator_value(const struct toll_translator *tr, size_t row, size_t column);
const char *toll_translator_text(struct toll_translator *tr, size_t row, size_t column);

/* Accepts NULL. */
void toll_translator_free(struct toll_translator *tr);

/* ---- More of a tracker --------------------------------------------------------------------- */

/* Only these GPUs count in gpu_utilization_ratio of the machine: comma-separated numbers and UUIDs,
 * each of which must exist where there is any GPU. NULL: all. Before the start. */
int toll_tracker_count_gpus(struct toll_tracker *t, const char *gpus, struct toll_error *e);

/* Keep the results so far in a file, in case the run does not get to its end. It exists from the
 * start on, is rewritten at most once a second, and is removed by toll_tracker_finish. It is a
 * Python pickle of the data classes of toll.compat.gpu_tracker. layout: "gpu-tracker" (or NULL)
 * with its options. Before the start. */
int toll_tracker_keep_backup(struct toll_tracker *t, const char *path, const char *layout,
                             struct toll_error *e);

/* Measure a recorded run instead of a live one (docs/testing.md), for tests and bug reports. */
int toll_tracker_replay(struct toll_tracker *t, const char *directory, struct toll_error *e);

/* toll_tracker_report with the format, flags and layout of an output, whose destination is ignored.
 * From any thread. */
int toll_tracker_report_as(struct toll_tracker *t, const struct toll_output *like, char **ret,
                           struct toll_error *e);

/* ---- Code blocks --------------------------------------------------------------------------- */

/* What each code block of a finished run used, computed from two files: one with a row for each
 * time point (a tracking file of gpu-tracker, or what its layout writes), one with the times at
 * which blocks began and ended (a sub-tracking file). Both are .csv or .sqlite; docs/layouts.md
 * has their columns. What is returned is freed with free(). */

/* format: "text" (or NULL) or "json". blocks NULL: the run alone. points may be a record of toll
 * (.jsonl or .sqlite) with one run: without blocks, its phases are used. It may also be a file with
 * the results of an analysis, as JSON or as a pickle, which are read again. */
int toll_phases_analyze(const char *points, const char *blocks, const char *format, char **ret,
                        struct toll_error *e);

/* Combine sub-tracking files into a new file with the same suffix. files: NULL-terminated. */
int toll_phases_combine(const char *destination, const char *const *files, struct toll_error *e);

/* Convert a tracking file from .csv to SQLite; replaces an existing file. */
int toll_phases_store(const char *points, const char *destination, struct toll_error *e);

/* Which runs to compare. */
struct toll_comparison {
    size_t size;
    const char *const *sessions; /* "NAME=FILE", NULL-terminated: analyses as json or pickles (of
                                    gpu_tracker too), or tracking files, which have no blocks */
    const char *statistic;       /* "min", "max", "mean" (or NULL) or "std" */
    const char *format;          /* "text" (or NULL) or "json" */
    void (*note)(void *arg, const char *sentence); /* for blocks whose lines differ; or NULL */
    void *note_arg;
};

/* One statistic of each figure, of one run beside the other, the smallest first. */
int toll_phases_compare(const struct toll_comparison *comparison, char **ret, struct toll_error *e);

/* The data in a Python pickle of gpu_tracker, or of toll in its place, as JSON: results of an
 * analysis, or what a Tracker found. Nothing in the file is ever run; -EOPNOTSUPP and its name when
 * there is anything but data in it. */
int toll_pickle_to_json(const char *path, char **ret, struct toll_error *e);

#ifdef __cplusplus
}
#endif
#endif
