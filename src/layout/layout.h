/* SPDX-License-Identifier: MIT
 * A layout gives our figures the names, units and order that another tool's users know. It is
 * data: tables of columns. Code that reads them is in translation.c, and knows none of them. */
#pragma once

#include "base/text/buf.h"
#include "toll_compat.h"

#include <stddef.h>

/* ==== Layout ================================================================================= */

/* What is taken of a figure. */
enum layout_take {
    TAKE_VALUE, /* of a sample: what it is now; of a summary: what it was last */
    TAKE_DELTA, /* of a counter: what it grew by since the row before */
    TAKE_RATE,  /* of a counter: what it grew by in a second */
    TAKE_TOTAL, /* of a counter: what it grew by since the start */
    TAKE_MAX,   /* of a summary */
    TAKE_MEAN,  /* of a summary; of a counter: what it grew by in a second */
    TAKE_SHARE, /* of a counter: the share it has of what those of `per` grew by */
};

enum layout_type { LAYOUT_INTEGER, LAYOUT_FLOAT, LAYOUT_TEXT };

/* Flags of a column. */
enum {
    ABSENT_IS_ZERO = 1 << 0, /* 0 where there is no GPU at all; what cannot be read is unknown */
    BARE_ZERO = 1 << 1,      /* of a float: 0, not 0.0 */
    NOT_AT_FIRST = 1 << 2,   /* unknown in the first row */
    WITH_PREFIX = 1 << 3,    /* the name has what the option "prefix" says in front */
    OMIT_ZERO = 1 << 4,      /* of a document: left out when it is 0 or unknown */
    FIXED_DECIMALS = 1 << 5, /* of a float: with all its decimals, 9.50 */
    ENDED_IS_ZERO = 1 << 6,  /* 0 of processes that have ended */
    NEEDED = 1 << 7,     /* a row without it is none; of processes that live it may be missing */
    ROUND_DOWN = 1 << 8, /* cut off after its decimals, not rounded */
};

/* The terms are figures by the names they have as columns, with signs between, for one sum:
 *
 *   target_memory_pss_bytes       of the target of the row; main_…, descendants_… likewise
 *   system_cpu_user_seconds + system_cpu_nice_seconds
 *   mount.*.size_bytes            of all instances of a kind, added up; of that of the row
 *   mount.*.size_bytes^           of the one that has most
 *   mount./.size_bytes            of the one that is called "/"
 *   gpu.*                         how many there are
 *   gpu.*.utilization_ratio>0     how many have more than nothing
 *   @time                         a fact (see layout_fact_names)
 *   ~loss                         a figure of the job's own (toll mark gauge)
 *   =ram_unit                     the word, or the number, that was chosen for an option
 */
struct layout_column {
    const char *name;  /* theirs; in a JSON document dots nest */
    const char *terms; /* ours */
    enum layout_take take;
    enum layout_type type;
    double factor;     /* from our unit to theirs; 0 is 1 */
    unsigned decimals; /* at most so many; 0: as many as the number has */
    unsigned flags;
    const char *scale; /* an option: multiplied by the factor of its word, or by its number */
    const char *second_scale; /* another one */
    const char *per;          /* an option or terms: it is divided by that */
    const char *otherwise;    /* terms that replace these when they are not known, or NULL */
    const char *label;        /* in a text, with dots where the name has them */
    const char *unit;         /* of an entry in a list */
};

/* When a table is written. */
enum layout_when {
    WHEN_USUAL,   /* csv, jsonl: with each sample; others: at the end */
    WHEN_SAMPLED, /* with each sample */
    WHEN_ENDED,   /* once, from the summary */
};

/* One row a sample, or one for each of them. */
enum layout_each { EACH_SAMPLE, EACH_TARGET, EACH_GPU };

/* What a table is for: there may be one for a target and one for the machine alone. */
enum layout_subject { SUBJECT_ANY, SUBJECT_TARGET, SUBJECT_MACHINE };

/* A table: the columns of one format. */
struct layout_table {
    const char *format;  /* csv, jsonl: a row a sample; json, text: the summary */
    const char *variant; /* the word of the option "columns" that it is for, or NULL */
    const char *file;    /* its name where several are in one directory, or NULL */
    enum layout_subject subject;
    enum layout_each each;
    enum layout_when when;
    bool averages;         /* a row is made of so many samples as the option "samples" says */
    bool keeps_time;       /* samples that are taken for the sake of a mark are no rows */
    bool skips_start;      /* the first sample, when it comes at once, is no row of its own */
    bool skips_first;      /* the first sample is never a row of its own */
    bool skips_end;        /* the last sample, when it comes at once, is no row of its own */
    bool keeps_ended;      /* the row of the end has what processes had when last looked at */
    bool is_log;           /* of marks, not of samples: phases and events as they end */
    bool no_heading;       /* of a csv */
    const char *heading;   /* of a csv, instead of the names of its columns; of a text, before it */
    const char *unknown;   /* text of a figure that is not known, or NULL */
    bool quotes_text;      /* of a csv: all but numbers is quoted, unknown too */
    const char *separator; /* of a csv; NULL: a comma. Of a text: one line for each column, with
                              this between its name and its value */
    const char *newline;   /* of a csv; NULL: \n */
    const struct layout_table *preface; /* of a csv: what comes before it, with its own
                                            heading and one row, or NULL */
    bool omits_unknown;   /* of a list, or of lines: figures that are not known have none */
    bool is_list;         /* of a json: an array with {name, unit, value} of each column */
    const char *template; /* of a text: the option with a text in which %X is the column X */
    unsigned indent;      /* of a document */
    unsigned decimals;    /* of every float that says nothing itself */
    const struct layout_column *columns;
    size_t count;
};

/* A word that an option takes, and what it multiplies with. */
struct layout_word {
    const char *word;
    double factor;
};

struct layout_option {
    const char *name;
    const char *value;               /* when it is not given; NULL: see otherwise */
    const struct layout_word *words; /* all it takes, the last without a word; or NULL */
    bool is_number;                  /* a number above 0; otherwise any text */
    bool is_whole;                   /* the number is whole */
    bool may_be_zero;                /* the number may be 0: what is divided by it is 0 then */
    double factor;                   /* of the number, to the unit of what it divides; 0 is 1 */
    const char *otherwise;           /* terms that replace a number that is not given, or NULL */
    const char *help;
};

struct layout {
    struct toll_layout facts; /* for the world outside */
    const struct layout_option *options;
    size_t option_count;
    const struct layout_table *tables;
    size_t table_count;
};

/* THE list of layouts, NULL-terminated. */
extern const struct layout *const layouts[];

/* ==== Layout choice ========================================================================== */

/* A layout with what was said to it: "gpu-tracker,ram_unit=megabytes,n_expected_cores=4". A comma
 * in a value is doubled. */

enum { LAYOUT_OPTIONS_AT_MOST = 8 };

struct layout_choice {
    const struct layout *layout;
    char *text;       /* owned: the values point into it */
    const char *file; /* which of the layout's files it is for, or NULL */
    struct {
        const char *value; /* NULL: not given, and there is no default */
        double factor;     /* of the word that was chosen */
        double number;     /* NAN: not given */
    } options[LAYOUT_OPTIONS_AT_MOST];
};

/* -EINVAL and a sentence with what is accepted. */
int layout_choice_parse(struct layout_choice *ret, const char *text, struct toll_error *e);
void layout_choice_done(struct layout_choice *c);

/* The number of an option in options, or -ENOENT. */
int layout_option_number(const struct layout *d, const char *name, size_t length);

/* What was chosen for an option that the layout has; "" when nothing was. */
const char *layout_choice_value(const struct layout_choice *c, const char *name);

/* The layout's table for a format, a subject and what was chosen, or NULL. */
const struct layout_table *layout_choice_table(const struct layout_choice *c, const char *format,
                                               enum layout_subject subject);

/* Whether the table has rows for samples; otherwise it is written once, from the summary. */
bool layout_table_is_sampled(const struct layout_table *t);

/* The path is that of one of the layout's files, if its name is; whether it is. */
bool layout_choice_take_file(struct layout_choice *c, const char *path);

/* -EINVAL and a sentence with those it has, when the layout has no table for the format. */
int layout_choice_check_format(const struct layout_choice *c, const char *format,
                               struct toll_error *e);

/* ==== Layouts ================================================================================ */

/* The layouts by name; only layouts.c needs them. */

extern const struct layout layout_resource_tracker;
extern const struct layout layout_gpu_tracker;
extern const struct layout layout_spdl;
extern const struct layout layout_process_metrics;
extern const struct layout layout_sweep;
extern const struct layout layout_mlflow_system;
extern const struct layout layout_nextflow;
extern const struct layout layout_snakemake;
extern const struct layout layout_prmon;
extern const struct layout layout_gnu_time;
extern const struct layout layout_github_action_benchmark;
extern const struct layout layout_gitlab;
extern const struct layout layout_codecarbon;

/* ==== Cells =================================================================================== */

/* Numbers as Python prints them, which is what the tools print whose layouts these are. */

/* As repr(float) and json.dumps: as few digits as give it again when read, always with a point or
 * an exponent: 0.1, 63.0, 1e-05, 1e+16. */
void python_float(struct buf *b, double value);

/* Rounded to so many decimals as round(value, decimals) does. */
double python_round(double value, unsigned decimals);

/* A whole number, the nearest. */
void python_integer(struct buf *b, double value);
