/* SPDX-License-Identifier: MIT
 * Several runs side by side: each is read from its record as a list of figures that can be
 * compared, summed up and judged. However long a run was, it takes about a kilobyte here. */
#pragma once

#include "base/text/buf.h"
#include "record/reader.h"
#include "summary/summary.h"

/* ==== Figures ================================================================================= */

enum study_figure {
    FIGURE_WALL,
    FIGURE_CPU,
    FIGURE_CPU_USER,
    FIGURE_CPU_SYSTEM,
    FIGURE_CORES_MEAN,
    FIGURE_CORES_P90, /* 90 % of the time no more were in use */
    FIGURE_CPU_WAIT,
    FIGURE_MEMORY_PEAK,
    FIGURE_MEMORY_MEAN,
    FIGURE_PSS_PEAK,
    FIGURE_SWAP_PEAK,
    FIGURE_STORAGE_READ,
    FIGURE_STORAGE_WRITTEN,
    FIGURE_IO_READ,
    FIGURE_IO_WRITTEN,
    FIGURE_NETWORK_RECEIVED,
    FIGURE_NETWORK_SENT,
    FIGURE_FAULTS_MAJOR,
    FIGURE_PROCESSES,
    FIGURE_PROCESSES_PEAK,
    FIGURE_THREADS_PEAK,
    FIGURE_GPU_MEMORY_PEAK,
    FIGURE_ENERGY,
    STUDY_FIGURES,
};

struct study_figure_kind {
    const char *key;       /* "memory_peak_bytes": in JSON, and in conditions */
    const char *short_key; /* "memory_peak": also accepted; NULL: none */
    const char *title;     /* "Peak memory" */
    enum metric_id unit;   /* a metric that has its unit, for human_number */
};

extern const struct study_figure_kind study_figures[STUDY_FIGURES];

/* By key, short key, or the name of the metric; -1: no such figure. */
int study_figure_find(const char *name, size_t length);

/* A value, and how it was obtained: unknown means that there is no value. */
struct study_value {
    double value;
    enum quality quality;
};

/* For people, with the unit. The value is not negative. Means of counts have decimals. */
void study_put_number(struct buf *b, enum study_figure f, double value);

/* Whether it would read as 0, however small it is. */
bool study_shows_zero(enum study_figure f, double value);

/* ==== Runs ==================================================================================== */

/* All phases of one name. */
struct study_phase {
    char *name; /* owned */
    uint64_t count;
    struct study_value wall, cpu, memory_peak;
};

/* A GPU as the record has it. */
struct study_gpu {
    char name[ENTITY_NAME_BYTES];
    double busy_share; /* of the time in which it was known to be more or less than 5 % utilised */
    double known_seconds;
    double memory_peak_bytes; /* of all its users; 0: not known */
};

/* A run. Strings are owned. */
struct study_run {
    char *path;      /* of its record */
    uint64_t number; /* in its record */
    char *id, *name, *host;
    struct parallel parallel; /* its place in a parallel job */
    struct batch_job job;
    char **command, **labels; /* NULL-terminated */
    uint64_t start_ns;        /* since 1970 */
    uint64_t elapsed_ns, samples;
    struct toll_end end;
    bool cut_short;           /* the record lacks its end */
    bool has_target;          /* otherwise only the machine was measured */
    bool memory_limit_hit;    /* the OOM killer ended a process because of memory_limit */
    unsigned cpus;            /* that it was allowed to use; 0: not known */
    double cores_allowed;     /* quota included; 0: not known */
    double throttled_seconds; /* by a CPU quota; 0: none was seen */
    double memory_limit;      /* bytes, that of a cgroup or the like; 0: none, or not known */
    double memory_machine;    /* bytes, when no other limit was there; 0: not known */
    double memory_rise; /* the largest rise of resident memory within one interval, in bytes */
    struct study_value figures[STUDY_FIGURES];
    struct study_phase *phases; /* owned */
    size_t phase_count;
    struct study_gpu *gpus; /* owned */
    size_t gpu_count;
};

struct study_runs {
    struct study_run *items; /* owned, in the order of their start */
    size_t count, capacity;
    size_t seen;    /* runs that were read, whether or not they match */
    size_t records; /* that were read */
};

/* Which runs are wanted. Everything is borrowed; NULL and 0 do not restrict. */
struct study_filter {
    const char *name;          /* a glob */
    const char *const *labels; /* NULL-terminated: "team=blue", or "team" for any value */
    const char *id;            /* the end of an id */
    uint64_t number;           /* of the run in its record */
    uint64_t since_ns;
    bool only_finished; /* the record has the end */
};

/* Called with each item of a run that may match while it is read, for more than figures: curves,
 * for example. `drop` is called with a run that was added and lacks its end, and its number, before
 * the end of a whole copy of it is handed over, which takes its place as the last run. Of a copy
 * that is left out there is no summary. */
struct study_hook {
    void (*item)(void *arg, const struct record_item *item);
    void (*drop)(void *arg, const struct study_run *run, size_t number);
    void *arg;
};

/* Adds the runs of a record, or of all records in a directory (*.jsonl, *.sqlite, *.db; not below
 * it). Of copies of a run (by its id) the first one that has the end is kept, or else the first. In
 * a directory, a file that cannot be read is handed to `note` as a sentence and skipped. note and
 * hook may be NULL. 0 or -errno and a sentence. */
int study_add(struct study_runs *runs, const char *path, const struct study_filter *filter,
              const struct study_hook *hook, void (*note)(void *arg, const char *sentence),
              void *note_arg, struct toll_error *e);

/* Adds a run that is not in a record: the summary of a tracker. False without memory. */
bool study_add_summary(struct study_runs *runs, const struct summary *s);

/* By the start of the runs. */
void study_sort(struct study_runs *runs);

void study_run_done(struct study_run *r);
void study_runs_done(struct study_runs *runs);

/* ==== Parallel jobs =========================================================================== */

/* What the ranks of parallel jobs used over time, collected while their records are read. Zeroed is
 * empty. */
struct study_ranks {
    struct study_rank *items; /* owned */
    size_t count, capacity;
    struct study_rank *open; /* owned; of the run that is read, or NULL */
    bool has_failed;         /* no memory */
};

/* An item of a record, in order. Runs without a rank are ignored. */
void study_ranks_item(struct study_ranks *k, const struct record_item *item);
void study_ranks_done(struct study_ranks *k);

/* The job that the newest rank belongs to, if there are records of two ranks of it and no run
 * started after it. 1, 0 when that is not so, or -ENOMEM. What is returned borrows from both and
 * ends with report_job_done. */
struct report_job;
int study_ranks_newest(struct study_ranks *k, const struct study_runs *runs,
                       struct report_job *ret);

/* ==== Statistics ============================================================================== */

struct statistics {
    size_t count;
    double mean;
    double sd; /* standard deviation of the sample (n - 1); 0 with fewer than two values */
    double min, max, median;
};

/* Of values in any order, all finite. All is 0 for no values. -ENOMEM. */
int statistics_of(const double *values, size_t count, struct statistics *ret);

/* Marks in is_outlier, which has room for `count`, the values whose modified z-score is above 3.5
 * (Iglewicz and Hoaglin): 0.6745 |x - median| / MAD, where MAD is the median of |x - median|. When
 * more than half of the values are equal, MAD is 0 and 0.798 times the mean of |x - median| takes
 * the place of MAD / 0.6745. None below five values, and none that is within 1 % of the median.
 * Returns how many there are, or -ENOMEM. */
int statistics_outliers(const double *values, size_t count, bool *is_outlier);

/* How far apart the means of two groups are. */
struct difference {
    double change;    /* mean of b - mean of a */
    double low, high; /* with confidence 1 - alpha the real change is in between */
    double freedom;   /* degrees of freedom */
    bool has_interval;
    bool is_shown; /* the interval does not include 0 */
};

/* Welch's interval: the groups may have different spreads and sizes. There is none unless one group
 * has two values or more. If the other has only one, the spread of the first is used for both (a
 * prediction interval). least_sd is the smallest standard deviation to believe: values that happen
 * to be the same are not known without error. */
struct difference statistics_difference(const struct statistics *a, const struct statistics *b,
                                        double alpha, double least_sd);

/* The t that |T| exceeds with probability alpha, T being Student's with that many degrees of
 * freedom (1 or more, need not be whole; more than 400 count as 400). alpha: 1e-9 to below 1. */
double student_quantile(double freedom, double alpha);

/* ==== Repeated runs =========================================================================== */

/* Adds a run that has ended to those that toll_repeats_text shows; see toll_repeats_add. 0 or
 * -ENOMEM. */
int repeats_add(struct toll_repeats *r, const struct summary *s, const char *const *parameters);

/* ==== Advice ================================================================================== */

/* The known values of a figure in several runs; most and least are 0 without any. */
struct study_range {
    size_t count;
    double least, most;
    bool is_least; /* one of them is a lower bound */
};

enum { ADVICE_RUNS = 20, ADVICE_STRONG = 3 };

#define ADVICE_TIME     1.5                       /* of the longest run */
#define ADVICE_OOM      1.2                       /* of a limit that was too low, … */
#define ADVICE_OOM_MORE (100.0 * 1024.0 * 1024.0) /* … and at least this much more, in bytes */

/* What to request for the next run of a job, and why. */
struct study_advice {
    const struct study_run *newest;         /* borrowed, of all that were considered */
    size_t runs;                            /* that finished and are counted */
    size_t older;                           /* … that finished before the last ADVICE_RUNS */
    size_t oom_killed, timed_out;           /* not among `runs`: they show what is too little */
    size_t failed, cut_short, left_running; /* not counted */
    size_t status_unknown;                  /* counted: they ended, the exit status is not known */
    size_t commands;                        /* different ones among those considered */

    unsigned cpus; /* 0: not known */
    struct study_range cores;
    bool more_would_help; /* than cores_allowed; the shares of CPU time are of the same run */
    double cores_allowed, wait_share, throttled_share;
    double starved_share; /* waiting for a core in the run with most cores in use, as a share of its
                           * CPU time, where others used the cores; 0: it was not starved */

    double memory_bytes; /* 0: not known */
    bool memory_is_least;
    double memory_factor; /* of the largest peak */
    struct study_range peaks;
    size_t peaks_unknown; /* finished runs without a peak */
    double memory_rise;   /* that was added, since peaks are sampled; 0: they are not */
    double oom_limit;     /* of the run that asks for most after an OOM kill; 0: there is none */
    bool oom_limit_known; /* otherwise it is the peak of that run */
    bool oom_decides;     /* memory_bytes is because of it */

    uint64_t seconds; /* 0: not known */
    bool seconds_is_least;
    struct study_range times;
    double timed_out_seconds; /* the longest of the runs that were ended before their end, if it is
                                 longer than any that finished; 0 otherwise */

    bool has_gpus, knows_gpus;
    unsigned gpus, gpus_seen; /* busy; in the run with most of them */
    const char *gpu_name;     /* borrowed: of a busy one; NULL: none was */
    struct study_range gpu_memory;
};

/* The smallest multiple of step that is not below the value, which is not negative. */
double study_round_up(double value, double step);

/* By the rules of docs/recommend.md. The runs are of one job, in the order of their start. */
void study_advise(const struct study_run *const *runs, size_t count, struct study_advice *ret);

/* ==== Conditions ============================================================================== */

enum condition_operator { IS_ABOVE, IS_AT_LEAST, IS_BELOW, IS_AT_MOST, IS_EQUAL };

/* What must not hold of a figure: "memory_peak > 2G", "cpu_seconds > +5%". */
struct condition {
    enum study_figure figure;
    enum condition_operator operator;
    bool is_relative; /* to the baseline: a limit with a sign */
    bool is_percent;
    double limit; /* in the base unit of the figure; percent as a ratio */
};

/* Pure. 0, or -EINVAL and a sentence that names what is accepted. */
int condition_parse(const char *text, size_t length, struct condition *ret, struct toll_error *e);

/* One side of a judgement: the mean of a figure over the runs of a group. */
struct condition_side {
    struct study_value value;
    size_t runs;  /* that had the figure */
    size_t total; /* … and those that did not */
};

/* Judges a condition, with a sentence. It fails when it holds, and when the figure is unknown. It
 * does not pass when the figure is unknown in some of the runs. A relative limit needs the
 * baseline, which may be NULL otherwise. */
enum toll_judged condition_judge(const struct condition *c, const struct condition_side *value,
                                 const struct condition_side *baseline, struct buf *ret_sentence);

/* Adds the run of a tracker to a gate. 0 or -ENOMEM. */
int study_gate_add(struct toll_gate *g, const struct summary *s);

/* ==== Hyperfine's format ====================================================================== */

/* The file that hyperfine --export-json writes, which its scripts plot. */

/* One run. NAN: not known. */
struct hyperfine_run {
    double wall_seconds, user_seconds, system_seconds;
    double
        memory_bytes; /* its peak; NAN also for a lower bound, since the file has no sign for it */
    int status;       /* as in a shell; -1: not known */
};

/* The runs of one command. Everything is borrowed. */
struct hyperfine_result {
    char *const *command;    /* NULL-terminated */
    char *const *parameters; /* "name=value", NULL-terminated; NULL: none */
    const struct hyperfine_run *runs;
    size_t count;
    double mean, sd, median, min, max; /* of the time; sd NAN: one run has none */
};

void hyperfine_write(struct buf *b, const struct hyperfine_result *results, size_t count);
