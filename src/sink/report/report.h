/* SPDX-License-Identifier: MIT
 * A report of one run: what it used, what stands out, and curves over time. The model is collected
 * while the run goes, in fixed memory however long it is; a page is written from it at the end. */
#pragma once

#include "base/text/encoding.h"
#include "sink/sink.h"
#include "sink/words.h"

#include <math.h>

/* ==== Traces ================================================================================== */

enum { TRACE_COLUMNS = 800 };

/* One figure over the whole run: columns of equal width in time, each with the smallest, the
 * largest and the mean value. When the run outgrows them, neighbours are merged and the width
 * doubles: a peak stays what it was, and its time is known to one column. Zeroed is empty. */
struct trace_column {
    double min, max;
    double sum;          /* value times seconds */
    uint64_t covered_ns; /* time with a known value; 0: none */
};

/* The values themselves, for a reader that zooms: a point for each as long as they fit, then for
 * each 2, 4, 8, … of them. */
enum { TRACE_POINTS = 6000 }; /* even; a day with a sample each second has 5,400 */

struct trace_point {
    struct trace_column of;
    uint64_t until_ns; /* since the start of the run */
};

struct trace {
    struct trace_column *columns; /* owned, TRACE_COLUMNS of them; NULL: empty */
    struct trace_point *points;   /* owned */
    unsigned point_count, point_capacity;
    uint64_t point_values; /* values in each point; the last may have fewer */
    uint64_t width_ns;     /* of one column */
    uint64_t end_ns;       /* how far it was filled, since the start of the run */
    double max;            /* of all values */
    uint64_t max_at_ns;
    uint64_t count; /* of values */
};

/* The value from from_ns until until_ns, both since the start of the run. False: no memory. */
bool trace_add(struct trace *t, double value, uint64_t from_ns, uint64_t until_ns);

void trace_done(struct trace *t);

/* Adds the values of `from` to those of `into`. */
void trace_merge(struct trace_column *into, const struct trace_column *from);

/* Columns that were reached. */
unsigned trace_length(const struct trace *t);

/* Mean of a column that has a value. */
double trace_mean(const struct trace_column *c);

/* Mean of all of it; 0 when there is no value. */
double trace_overall_mean(const struct trace *t);

/* The straight line through the means by least squares over [from_ns, until_ns): growth per second,
 * and how much of the variation it explains (0 to 1). False with fewer than ten columns. */
bool trace_slope(const struct trace *t, uint64_t from_ns, uint64_t until_ns, double *ret_slope,
                 double *ret_fit);

/* ==== Charts ================================================================================== */

enum { CHART_SERIES = 8, NO_LIMIT = LIMITS };

/* Which figures a chart shows: a row of the table in model.c. */
struct chart_plan {
    const char *name; /* "cpu": for programs */
    const char *title, *about;
    enum entity_kind of;
    unsigned limit; /* enum limit_kind, drawn as a line; or NO_LIMIT */
    struct chart_curve {
        enum metric_id id;
        const char *name; /* in the legend; NULL after the last */
    } curves[5];
};

/* The plan of the i-th chart of a page; NULL after the last. */
const struct chart_plan *chart_plan_at(size_t i);

/* One curve of a chart. */
struct chart_series {
    enum metric_id id;
    char name[ENTITY_NAME_BYTES + 32]; /* in the legend */
    unsigned instance;                 /* its number; 0: the target */
    bool is_rest;                      /* what the figure leaves of the first curve is drawn */
    struct trace trace;
    uint64_t last;    /* of a counter, whose rate is drawn */
    uint64_t last_ns; /* when that was, since the start of the run */
    bool has_last;
    double window; /* of a rate: value times seconds since window_from_ns */
    uint64_t window_from_ns, window_ns;
};

struct chart {
    const struct chart_plan *plan;
    struct chart_series series[CHART_SERIES];
    unsigned count;
    bool left_out; /* there are more devices than these */
};

/* Adds the value that the figure of the curve has in a frame: a gauge as it is, a rate as the mean
 * over a window, a counter as its growth per second. False: no memory. */
bool chart_series_add(struct chart_series *s, union value value, const struct frame *f);

/* ==== Model =================================================================================== */

enum { REPORT_CHARTS = 13, REPORT_EVENTS = 200, REPORT_PHASES = 200, REPORT_PROCESSES = 60 };
enum { PHASE_COLOURS = 3 };

/* Something with a beginning and an end on the timeline. */
struct report_span {
    char name[ENTITY_NAME_BYTES];
    pid_t pid;
    uint64_t from_ns, until_ns; /* since the start of the run */
    unsigned colour;            /* of a phase: less than PHASE_COLOURS, the same for its name */

    pid_t parent;        /* of a process from here on */
    double cpu_seconds;  /* its own, without children */
    double weight;       /* with those of its children that are kept: the smallest make room */
    uint64_t peak_bytes; /* the kernel's mark of its resident memory when last read; 0: unknown */
    uint64_t count;      /* of processes that are one line; 0: one */
    bool has_cpu, is_complete; /* without the latter the CPU time is a lower bound */
    bool is_recorded;          /* by the kernel: its peak is no lower bound */
    struct toll_end end;       /* not ended: unknown */
};

struct report_event {
    char name[ENTITY_NAME_BYTES];
    uint64_t at_ns;
};

/* One rank of a parallel job, in a report of several records of it. */
struct report_rank {
    const char *name; /* borrowed */
    double cpu_seconds;
};

struct report {
    const struct summary *summary; /* borrowed, from the end of the run on */
    const struct selection *selection;
    uint64_t frames;
    struct chart charts[REPORT_CHARTS];
    struct report_span *phases, *processes; /* owned */
    unsigned phase_count, process_count, phase_names;
    uint64_t phases_left_out, processes_left_out;
    struct report_event *events; /* owned */
    unsigned event_count;
    uint64_t events_left_out;
    bool has_failed; /* no memory for a part of it */
};

struct report *report_new(void);
void report_free(struct report *r); /* accepts NULL */
void report_add_frame(struct report *r, const struct frame *f);
void report_add_process(struct report *r, const struct process_end *e);
void report_add_mark(struct report *r, const struct run_mark *m);

/* The processes that are kept as a tree, depth first: their numbers and depths. A process whose
 * parent is not kept begins a tree. Returns how many there are. */
struct tree_row {
    unsigned process, depth;
};
unsigned report_tree(const struct report *r, struct tree_row ret[REPORT_PROCESSES]);

/* Figures of the whole target, as the summary has them. */
enum quality report_quality(const struct report *r, enum metric_id id);
double report_figure(const struct report *r, enum metric_id id); /* total, or peak of a gauge */
double report_mean(const struct report *r, enum metric_id id);

/* ==== The answer ============================================================================== */

/* What ran: its name, and its command or targets. */
void report_put_title(const struct report *r, struct buf *b);

/* The first of both alone. False: it has no name but its command. */
bool report_put_name(const struct report *r, struct buf *b);

/* How a figure was obtained, in a word or two. */
const char *report_quality_word(enum quality q);

/* The day and the time to the second: 2026-11-15 09:30:00 UTC. */
void report_put_time(struct buf *b, uint64_t real_ns);

enum { REPORT_ANSWERS = 19 };

/* A figure that answers what the job used, or the machine where there is no job. */
extern const struct report_answer {
    const char *label;
    enum metric_id id;
    bool is_mean;      /* the mean is of interest, not the total or the peak */
    const char *after; /* what the figure is */
    int energy;        /* 0; or 1 + enum energy_word: instead of the metric */
} report_answers[REPORT_ANSWERS];

/* The figure of an answer, with its quality in *ret_quality. False: unknown. */
bool report_put_answer(const struct report *r, const struct report_answer *a, struct buf *b,
                       enum quality *ret_quality);

/* Whether processes may have begun and ended without being seen. */
bool report_misses_processes(const struct report *r);

/* How much was used of what the limits allow; of the cores, the mean. Returns their number. */
unsigned report_used(const struct report *r, struct limit_used ret[LIMITS]);

/* What is limited, and which of its values counts: "Memory, peak". */
void report_put_used(struct buf *b, const struct limit_used *u);

/* ==== Earlier runs ============================================================================ */

enum history_figure { HISTORY_WALL, HISTORY_CPU, HISTORY_MEMORY, HISTORY_FIGURES };

/* A run beside others. Strings are borrowed. */
struct report_past {
    const char *name, *record, *id;
    uint64_t number; /* in its record */
    uint64_t start_ns;
    struct toll_end end;
    bool cut_short;
    struct {
        double value;
        enum quality quality; /* unknown: no value */
    } figures[HISTORY_FIGURES];
};

/* Runs of one name, the oldest first. */
struct report_history {
    const struct report_past *runs; /* borrowed */
    size_t count;
    bool is_overview; /* each has a report of its own; otherwise the last one has */
    const char *keys[HISTORY_FIGURES]; /* of the figures in JSON, borrowed */
};

enum { HISTORY_CURVE = 200 }; /* as many of the newest are drawn */

extern const struct history_column {
    const char *title;
    enum metric_id unit;
} history_columns[HISTORY_FIGURES];

/* Whether an overview has runs of several names: each is shown with its own then. */
bool history_has_names(const struct report_history *h);

/* The change from the run before as a share; NAN when one of both is unknown or a lower bound, or
 * when there is no run before. The other writes it as "+12 %", and nothing for NAN. */
double history_change(const struct report_history *h, size_t i, enum history_figure f);
void history_put_change(const struct report_history *h, size_t i, enum history_figure f,
                        struct buf *b);

/* A figure of a run with its sign, or "?". */
void history_put_figure(const struct report_past *p, enum history_figure f, struct buf *b);

/* How a run ended: "exit 0", "SIGKILL", "OOM kill", "cut off". */
void history_put_end(const struct report_past *p, struct buf *b);
bool history_is_bad(const struct report_past *p);

/* ==== Findings ================================================================================ */

enum finding_weight { FINDING_NOTE, FINDING_WARNING, FINDING_PROBLEM };

struct report_finding {
    const char *key; /* documented in docs/report.md */
    enum finding_weight weight;
    struct buf sentence; /* what was found */
    struct buf evidence; /* the figures that show it, and the threshold */
};

enum {
    REPORT_FINDINGS = 24,
    REPORT_FINDINGS_SHOWN = 5, /* in text and Markdown: the heaviest */
};

struct report_findings {
    struct report_finding items[REPORT_FINDINGS + 1]; /* the last takes what has no room */
    unsigned count;
};

/* Whether there is anything to find: not of a machine without a job or a GPU. */
bool report_is_judged(const struct report *r);

/* The heaviest first. The caller ends it with report_findings_done. */
void report_find(const struct report *r, struct report_findings *ret);
void report_findings_done(struct report_findings *f);

/* A finding to complete; beyond REPORT_FINDINGS it is not kept. */
struct report_finding *report_finding_add(struct report_findings *f, const char *key,
                                          enum finding_weight weight);

/* The finding that one of the ranks of a job computed much more than the others. */
void report_find_imbalance(const struct report_rank *ranks, unsigned count,
                           struct report_findings *f);

/* ==== Drawing ================================================================================= */

bool chart_is_empty(const struct chart *c);
const char *chart_title(const struct chart *c);

/* Whether it shows where its first series was largest. */
bool chart_marks_peak(const struct chart *c);

/* A value of a figure as it is drawn: a counter as its rate. */
void chart_put_value(struct buf *b, const struct metric *m, double value);

/* The limit that applies to the chart, or 0. */
double chart_limit(const struct report *r, const struct chart *c);

/* Whether a curve has values that the chart shows; other curves are only in its legend. */
bool chart_series_is_drawn(const struct chart *c, unsigned i);

/* The place of charts and of the timeline in a picture, in its units. */
enum {
    CHART_WIDTH = 960,
    CHART_LEFT = 84, /* room for the numbers of the axis */
    CHART_RIGHT = 14,
    CHART_TOP = 14,
    CHART_BOTTOM = 30,
    CHART_LETTER = 7, /* width of one, about */
};

/* Where a time is; written in units of the picture, or as a share of its width, which then may be
 * any. */
double chart_x(uint64_t at_ns, uint64_t all_ns);
void chart_put_x(struct buf *b, double x, bool is_share);

/* The axis of the time below a picture that ends at `bottom`. */
void chart_draw_time(struct buf *b, uint64_t all_ns, double bottom, bool is_share);

/* An <svg> element. */
void chart_draw(const struct report *r, const struct chart *c, struct buf *b);

/* Charts below each other, each with its heading and a legend, below a title if there is one: an
 * SVG document. */
void charts_draw(const struct report *r, const struct chart *const *charts, unsigned count,
                 const char *title, struct buf *b);

/* A chart of other curves: chart_begin, its description and "\">", axes, traces, "</svg>". */
struct chart_scale {
    uint64_t all_ns;
    double top, step; /* the value at the upper edge; from one line of the grid to the next */
    unsigned ticks;
};
enum chart_line { CHART_LINE, CHART_BAND, CHART_AREA }; /* each has what those before it have */

void chart_begin(struct buf *b, bool inside, unsigned offset);
struct chart_scale chart_scale_of(const struct metric *m, double most, uint64_t all_ns);
void chart_draw_axes(struct buf *b, const struct metric *m, const struct chart_scale *scale);
void chart_draw_trace(struct buf *b, const struct chart_scale *scale, const struct trace *t,
                      unsigned colour, enum chart_line line);

/* The chart as a JSON object: its curves as points, null where a curve has a gap. */
void chart_put_json(const struct report *r, const struct chart *c, struct json_out *j);

/* A figure of runs beside each other, a point for each of the newest. Nothing with one run. */
void history_draw(const struct report_history *h, enum history_figure f, struct buf *b);

/* Events, phases and processes over time. Returns the numbers of bars. */
struct timeline_drawn {
    unsigned phases, processes;
};
struct timeline_drawn timeline_draw(const struct report *r, struct buf *b);
bool timeline_is_empty(const struct report *r);

/* ==== Forms =================================================================================== */

struct report_job; /* sink/report/job.h */

/* A form of a report: its parts are written in this order, the history before the runs when it is
 * an overview. Any may be NULL. */
struct report_form {
    const char *name;     /* "html" */
    const char *between;  /* of two runs; NULL: it shows one */
    bool history_is_last; /* always written, after the runs */
    void (*begin)(struct sink *s, const char *title);
    void (*run)(struct sink *s, const struct report *r);
    void (*job)(struct sink *s, const struct report_job *j); /* the ranks of a job as one */
    void (*history)(struct sink *s, const struct report_history *h);
    void (*end)(struct sink *s);
};

extern const struct report_form report_html, report_markdown, report_text, report_json;

/* By name; NULL: there is none. */
const struct report_form *report_form_find(const char *name);

/* ==== Script ================================================================================== */

/* What a page has for a browser that runs scripts: uPlot, the page's own script (page.js) and the
 * points of its charts. A build without uPlot has none of it, and its pages show the same charts
 * without zoom. */

/* Made by tools/embed-script; the script and its style are empty without uPlot. */
extern const char report_script[];
extern const char report_script_style[];
extern const char report_script_hash[]; /* as a Content-Security-Policy names it */

/* chart.css has the colours and is for pictures alone, too; page.css is for pages. */
extern const char report_chart_style[];
extern const char report_page_style[];

static inline bool script_is_built_in(void)
{
    return report_script[0];
}

/* Points of the charts, in a section of the page after its figures, of which each has the next
 * chart that is not empty. Neighbours are merged until they fit: a page stays below 2 MB with them,
 * unless it has many runs. */
void script_put_data(const struct report *r, struct buf *b);

/* What goes into the head of a page, and the script itself at its end. */
void script_put_style(struct buf *b);
void script_put(struct buf *b);
