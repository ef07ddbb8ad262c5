/* SPDX-License-Identifier: MIT
 * What a column is made of, parsed once. See layout.h for how it is written. */
#pragma once

#include "base/text/buf.h"
#include "layout/layout.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/summary.h"

/* ==== Terms =================================================================================== */

/* What is known beside figures. */
enum layout_fact {
    FACT_TIME,              /* seconds since 1970 */
    FACT_ELAPSED,           /* seconds since the start of the run */
    FACT_INTERVAL,          /* seconds since the sample before */
    FACT_PID,               /* of the main process */
    FACT_OWN_PID,           /* of the process that measures */
    FACT_GROUP,             /* the process group of the target */
    FACT_GPUS,              /* that the machine has, read or not */
    FACT_CPUS,              /* that the machine has */
    FACT_STEP,              /* rows before this one */
    FACT_SINCE,             /* 1: counters count from before the run */
    FACT_HAS_GPUS,          /* 1: GPUs are read, whether or not they have answered yet */
    FACT_UTC,               /* a text: 2026-11-16T07:02:15.123+00:00 */
    FACT_LOCAL,             /* a text: 2026/11/16 07:02:15.123, as nvidia-smi writes it */
    FACT_NUMBER,            /* of the GPU of the row, see gpu_number */
    FACT_NAME,              /* a text: of the target or the instance of the row */
    FACT_ZERO,              /* 0: what Linux does not count, and that tool writes as 0 */
    FACT_EXIT,              /* exit status; 0 of a signal */
    FACT_MEMORY_PEAK,       /* bytes of all processes together, or of the largest one */
    FACT_LARGEST,           /* bytes of the largest process */
    FACT_PROCESSORS_ENERGY, /* joules of the processors of the machine */
    FACT_GPUS_ENERGY,       /* joules */
    FACT_CARBON,            /* grams of CO2e for a kWh of the job's share, as asked for */
    FACT_PUE,               /* as asked for, or 1 */
    FACT_TRACKING,          /* a text: process when the energies are the job's share, or machine */
    FACT_PAGE,              /* bytes */
    FACT_RUN,               /* a text: the name of the run */
    FACT_ID,                /* a text: the ID of the run */
    FACT_COMMAND,           /* a text: the words of the command */
    FACT_KERNEL,            /* a text */
    FACT_SECOND,            /* a text: local time, 2026-11-16T07:02:15 */
    FACT_ELAPSED_TEXT,      /* a text: how long the run took, 62.0350 seconds */
    FACT_HOURS,             /* a text: how long the run took, 0:01:02, or 1 day, 2:03:04 */
    FACT_MINUTES,           /* a text: the same as GNU time writes it, 0:01.25 or 1:02:03 */
    FACT_UNKNOWN,           /* a text that is never known */
    LAYOUT_FACTS
};

extern const char *const layout_fact_names[LAYOUT_FACTS];

enum term_of {
    TERM_FIGURE,
    TERM_SUM,
    TERM_LARGEST,
    TERM_ROOT, /* of the instance that is called "/" */
    TERM_COUNT,
    TERM_ABOVE_ZERO,
    TERM_FACT,
    TERM_OPTION,
    TERM_OWN, /* a figure of the job's own */
};

struct term {
    bool minus;
    enum term_of of;
    enum entity_kind kind;
    enum part part;
    enum metric_id id;
    enum layout_fact fact;
    const char *option; /* or the name of the job's own figure; borrowed from the text */
};

enum { TERMS_AT_MOST = 6 };

struct terms {
    struct term items[TERMS_AT_MOST];
    size_t count;
};

/* 0, or -EINVAL when there is no such figure, fact, or sign. */
int terms_parse(struct terms *ret, const char *text);

/* Whether one of them is of such an entity. */
bool terms_have(const struct terms *t, enum entity_kind kind);

/* ==== Translation ============================================================================= */

/* The interpreter: figures from wherever they are, in the columns of a layout's table. */

/* Whose figure it is. */
struct layout_place {
    enum entity_kind kind;
    enum part part;
    size_t target;   /* of several, from 1; 0: all together */
    size_t instance; /* of its kind, from 0 */
    enum metric_id id;
};

/* Where figures are: a frame, a summary, or a frame that a program was handed. */
struct layout_source {
    const void *of;
    /* In the metric's unit, NAN when it is not known. A frame has but one answer to every take. */
    double (*figure)(const void *of, const struct layout_place *place, enum layout_take take);
    /* How many instances of a kind there are; of ENTITY_TARGET: of several targets, otherwise 0. */
    size_t (*count)(const void *of, enum entity_kind kind);
    /* target: as in a place. NAN when it is not known. */
    double (*fact)(const void *of, enum layout_fact fact, size_t target);
    /* Of a target or of an instance; "" when it has none. */
    const char *(*name)(const void *of, enum entity_kind kind, size_t number);
    /* The largest value of one of the job's own figures, NAN when there is none. */
    double (*own)(const void *of, const char *name);
    /* Of the mount with that number. */
    enum space_kind (*space)(const void *of, size_t instance);
    bool between;  /* this sample was taken for the sake of a mark */
    bool is_paced; /* samples come by themselves; otherwise a program has asked for each row */
    bool is_summary;
    const struct run *run;      /* of its texts; NULL: there are none */
    const struct toll_end *end; /* of a summary, otherwise NULL */
    /* Whether a figure is not known because a process that has some of it could not be read. NULL:
     * none is. */
    bool (*is_partial)(const void *of, const struct layout_place *place);
};

/* The value of a column in a row. */
struct layout_cell {
    double number;    /* NAN: not known */
    const char *text; /* of a text, otherwise NULL */
};

/* What is remembered of a row from sample to sample. */
struct translation_row;

struct translation {
    const struct layout_choice *choice; /* borrowed */
    const struct layout_table *table;
    struct terms *terms;          /* owned, of each column */
    struct terms *divisors;       /* owned, of what each column is divided by */
    struct terms *otherwise;      /* owned, of what replaces terms that are not known */
    struct translation_row *rows; /* owned */
    size_t row_count;             /* of the rows that are remembered */
    struct layout_cell *cells;    /* owned: row after row */
    char (*texts)[64];            /* owned: of texts that are made, one for each cell */
    struct buf command;           /* text of a cell: the words of the command */
    size_t ready;                 /* rows in cells */
    size_t samples;               /* that came since the last rows */
    uint64_t step;                /* how often there were rows */
    double row_at;                /* when the last rows were, in seconds since the start */
    bool has_gpus;
    bool is_last;            /* this sample is the last */
    bool is_cut;             /* the last sample came too soon after a row for one of its own */
    bool was_fed;            /* a sample was there before */
    bool is_paced_by_caller; /* samples are gathered until is_due, however many they are */
    bool is_due;
};

/* 0 or -ENOMEM. */
int translation_open(struct translation *t, const struct layout_choice *choice,
                     const struct layout_table *table);
void translation_done(struct translation *t);

/* One more sample. The number of rows that are ready, 0 while a row is being averaged; last: what
 * is there has to do. -ENOMEM. */
int translation_put(struct translation *t, const struct layout_source *s, bool last);

/* Nanoseconds since 1970 do not fit into a double: rounded once, not twice. */
static inline double layout_seconds(uint64_t ns)
{
    return (double)(ns / NS_PER_SECOND) + (double)(ns % NS_PER_SECOND) / 1e9;
}

static inline const struct layout_cell *translation_cell(const struct translation *t, size_t row,
                                                         size_t column)
{
    return &t->cells[row * t->table->count + column];
}

/* The name of a column, with its prefix. */
void translation_name(struct buf *b, const struct translation *t, size_t column);

/* Whether every row of the table needs figures that only page tables have. */
bool layout_table_needs_rollup(const struct layout_table *table);

/* Whether the table has figures of the machine. */
bool layout_table_needs_system(const struct layout_choice *c, const struct layout_table *table);

/* ==== Term figure ============================================================================= */

/* The figure that the terms of a column come to in one row. */

/* What one row is of. */
struct row_of {
    const struct layout_source *source;
    size_t target; /* as in a place */
    size_t instance;
    enum layout_each each;
    bool has_ended; /* the processes of the target */
};

/* Whether there is a target, or the machine alone. */
bool row_has_target(const struct row_of *r);

/* How many processes of the target live, NAN when it is not known. */
double row_living(const struct row_of *r, enum part part);

/* A sum that leaves something out is none: one term that is not known makes it unknown. step: rows
 * that were before. */
double terms_figure(const struct row_of *r, const struct terms *terms, enum layout_take take,
                    uint64_t step);

/* Whether one of them is known of some processes alone, because others could not be read. */
bool terms_are_partial(const struct row_of *r, const struct terms *terms);

/* What is read seldom is what it was when it was read last, age seconds ago; but of a target only
 * while it lives, and while all of it can be read. */
bool terms_may_hold(const struct row_of *r, const struct terms *terms, double age);

/* ==== Cell figure ============================================================================= */

/* The number of a cell: what the terms of its column come to in this sample, seen
 * beside the row before. */

/* Shorter than that little can be said of a CPU: the kernel counts in hundredths of a second. */
#define SHORT_SECONDS 0.1

/* Shorter than that nothing can be said of the CPUs of the machine, which are counted in ticks
 * alone: a busy machine may seem to be idle. */
#define SHORTEST_SECONDS 0.02

/* What is remembered of a row from sample to sample; of each column, all in one block. */
struct translation_row {
    double *before;        /* owned, the block: counters at the row before, in their unit */
    double *since;         /* when the row before was, in seconds since the start */
    double *earlier;       /* counters at a row before that one, at least SHORT_SECONDS older */
    double *earlier_since; /* when that row was; or the first row, where none is that old */
    double *next_earlier;  /* those that become the earlier ones as soon as they are old enough */
    double *next_since;    /* when those were; NAN: none */
    double *at_mark;       /* 1: the row before was taken for the sake of a mark */
    double *whole;         /* of a share: what it is of, at the row before */
    double *held;          /* gauges as they were last read */
    double *held_at;       /* when they were read */
    double *shown;         /* gauges as they were last written */
    double *means;         /* of the samples so far, where a row is made of several */
    double *weights;       /* time that the means cover */
    bool is_based;         /* what counters had before the first row is known */
    bool has_begun;        /* there was a row */
    bool has_lived;        /* its processes were seen alive */
    bool end_is_written;   /* the row of their end is written */
};

/* 0 or -ENOMEM. */
int translation_row_init(struct translation_row *row, size_t columns);

/* What a column is divided by, as terms; NULL: by nothing, or by the number of an option. */
const char *cell_divisor(const struct layout_choice *c, const struct layout_column *column);

/* Whether a row is the mean of its samples in this column. */
bool cell_is_averaged(const struct translation *t, const struct layout_column *c);

/* The figure of a sample, before it becomes a cell. What is seen is remembered. */
double cell_look(const struct translation *t, const struct row_of *r, size_t column,
                 struct translation_row *state);

/* What counters had before the run is not what it used: they count from this sample, or, when it
 * makes a row itself, from the next one. */
void cell_base(const struct translation *t, const struct row_of *r, size_t column,
               struct translation_row *state, bool makes_row);

/* The number of the cell of a row, NAN when it is not known. */
double cell_figure(const struct translation *t, const struct row_of *r, size_t column,
                   struct translation_row *state);

/* ==== Cell text =============================================================================== */

/* A cell as text. */

/* Of a column that is text: a time, a name, the word of an option. Made in the room, or borrowed;
 * NULL when there is none. */
const char *cell_text(struct translation *t, const struct row_of *r, size_t column, char room[64]);

/* The cell as the layout writes it; nothing when it is not known. */
void cell_write(struct buf *b, const struct layout_column *c, const struct layout_cell *cell);

/* ==== Frame view ============================================================================== */

/* A frame, or a summary, as a source of figures for a layout. */

/* Borrowed for as long as the source is used. */
struct frame_view {
    const struct frame *frame;
    const struct run *run;
};

struct layout_source frame_view_source(const struct frame_view *view);
struct layout_source summary_view_source(const struct summary *summary);
