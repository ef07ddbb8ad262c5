/* SPDX-License-Identifier: MIT
 *
 * libtoll tells what a job cost: CPU, memory, storage, network, as exactly as the kernel can
 * account it; of a command it starts, of processes that run already, of the machine.
 *
 * A program that measures itself, in the background:
 *
 *     struct toll_tracker *t;
 *     struct toll_error e;
 *     struct toll_options o = {.size = sizeof o};
 *     struct toll_target self = {.size = sizeof self};  // no id: this process and its children
 *     struct toll_figure cpu = {.size = sizeof cpu};
 *
 *     toll_tracker_new(&t, &o, &e);
 *     toll_tracker_add_target(t, &self, &e);
 *     toll_tracker_start(t, &e);                        // a thread of its own samples
 *     toll_mark_phase_begin(t, "load");
 *     load();
 *     toll_mark_phase_end(t, "load");
 *     toll_tracker_figure(t, "target_cpu_seconds", &cpu);
 *     toll_tracker_finish(t, NULL);                     // last sample, summary to every output
 *     toll_tracker_free(t);
 *
 * The life of a tracker that starts a command, without a thread:
 *
 *     struct toll_output out = {.size = sizeof out, .destination = "run.jsonl"};
 *     struct toll_end end = {.size = sizeof end};
 *
 *     toll_tracker_new(&t, &o, &e);                    // settings are checked here
 *     toll_tracker_add_output(t, &out, &e);            // as often as you like
 *     toll_tracker_launch(t, argv, NULL, &e);          // the command runs from here on
 *     while (toll_tracker_step(t) > 0)                 // never blocks: samples when it is time
 *         wait_until_readable(toll_tracker_fd(t));
 *     toll_tracker_finish(t, &end);                    // last sample, summary to every output
 *     toll_tracker_free(t);
 *
 * To measure what runs already, toll_tracker_add_target and toll_tracker_attach stand in the place
 * of the launch. To look but once, toll_snapshot.
 *
 * The library prints nothing, handles no signals, never ends the program, and starts no threads
 * unless toll_tracker_start asks for them or GPUs are read (options.gpus). Calls return 0 (or what
 * they say) or a negative errno; those that set something up put one sentence fit for a user into a
 * struct toll_error, which may be NULL.
 *
 * Threads: different trackers are independent. One tracker is used from one thread at a time,
 * except for calls that say "from any thread": that is of a tracker in the background, once
 * toll_tracker_start has returned. After a fork, the child has no tracker: calls with
 * the parent's do nothing there and return -ESRCH. So do calls with NULL, for programs that go on
 * when measuring could not begin; only marks go elsewhere then. NULL for any other pointer that may
 * not be NULL is -EINVAL; a call that returns a pointer or a number then returns NULL, NAN or 0.
 *
 * Growth: structs that a program fills in begin with their size; what a newer library has more is
 * then left at its default, and -E2BIG says that an older one does not know what it is asked for. A
 * size of 0 is -EINVAL. Structs that the library hands out are only ever pointed to, and may
 * get more fields at their end. struct toll_error never changes.
 */
#ifndef TOLL_H
#define TOLL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header, and of the library in use, which need not be the same. */
#define TOLL_VERSION "0.1.0"
const char *toll_version(void);

/* Why something could not be set up. */
struct toll_error {
    int code;          /* negative errno */
    char message[512]; /* one sentence, no newline */
};

/* ---- What can be measured ------------------------------------------------------------------ */

/* One row of the metric table; the strings live as long as the program. */
struct toll_metric {
    const char *entity; /* what the figure is of: process, self, … */
    const char *name;   /* without the entity: cpu_user_seconds */
    const char *title;  /* for people: "CPU time, user" */
    const char *kind;   /* counter or gauge */
    const char *unit;   /* seconds, bytes, cores, ratio, joules, …, or "" for a plain number */
    const char *fold;   /* how the processes of a target make one figure */
    const char *cost;   /* cheap, refresh (read about once a second) or slow (on the budget) */
    const char *source; /* the kernel's file or call */
    const char *otel;   /* OpenTelemetry's name of the same thing, or "" */
    const char *help;
};

/* The i-th metric, or NULL behind the last. */
const struct toll_metric *toll_metric_at(size_t i);

/* ---- Settings ------------------------------------------------------------------------------ */

/* When the proportional set size (PSS) is read. It costs milliseconds per gigabyte and holds a
 * lock of the process that is read. */
enum toll_memory {
    TOLL_MEMORY_AUTO, /* as often as the budget allows */
    TOLL_MEMORY_RSS,  /* never */
    TOLL_MEMORY_PSS,  /* at every refresh, whatever it costs */
};

/* Which processes get rows of their own in series. */
enum toll_processes {
    TOLL_PROCESSES_TOP, /* the twenty largest, once a second */
    TOLL_PROCESSES_NONE,
    TOLL_PROCESSES_ALL, /* every process, every sample */
};

/* When a command's run is over. */
enum toll_wait {
    TOLL_WAIT_MAIN, /* the target has ended when the command has */
    TOLL_WAIT_ALL,  /* … when its last descendant has */
};

struct toll_frame; /* what was seen in one look, see below */

/* Zero is the default of every field. Pointers are borrowed until toll_tracker_new returns. */
struct toll_options {
    size_t size;               /* sizeof (struct toll_options), so that it can grow */
    uint64_t interval_ns;      /* 0 = auto: fine at first, coarser as the run gets older */
    const char *metrics;       /* globs with commas between, on the names of metrics; NULL = all */
    const char *name;          /* of the run; NULL = the command's */
    const char *const *labels; /* "key=value", NULL behind the last */
    enum toll_memory memory;
    enum toll_processes processes;
    enum toll_wait wait;
    bool no_children;      /* only the command or the processes named, not what they start */
    double budget_percent; /* share of one core for slow reads; 0 = the default of 1 */
    bool system;           /* the machine too: CPUs, memory, disks, filesystems, interfaces, …;
                              where network filesystems are mounted, a helper process asks for
                              their size: it sends no SIGCHLD, and wait(2) does not meet it */
    bool network;          /* network bytes of the target, which cost more than all the rest */
    bool since_start;      /* attached: count from the birth of the processes, not from now on */
    uint64_t timeout_ns;   /* end a command that runs longer with SIGTERM; 0 = never */
    uint64_t grace_ns;     /* … and with SIGKILL so much later; 0 = the default of 10 s */

    bool no_marks; /* launched: no socket for the marks of the command */

    /* Called with every frame of a tracker that runs in the background, in order and one at a time,
     * on a thread of its own: one that takes its time delays no sample, it misses frames, which
     * frame->dropped counts. The frame is borrowed for the call. The callback may make the calls
     * that are for any thread. */
    void (*frame)(void *arg, const struct toll_frame *frame);
    void *frame_arg;
    size_t frames_kept; /* that wait for the callback or for toll_tracker_next_frame; then the
                           oldest are dropped. 0: 64 with a callback, otherwise none */

    /* Called with one sentence when something cannot be measured or written, once for each;
     * the summary repeats them. The sentence is borrowed for the call, which must not call the
     * tracker: it comes from the thread that steps, in the background from that of the frames. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;

    /* Which GPUs are read, in a thread of its own: "all", "none", "visible" (as
     * CUDA_VISIBLE_DEVICES and the like say), or numbers and UUIDs with commas between, each of
     * which has to be there. NULL: those that are visible; without a word when there are none. */
    const char *gpus;

    /* Called in the place of note with what becomes of outputs at the end: once for each that is
     * not complete, or has put something aside, with its name, what is missing and why
     * (has_failed), and for each that makes toll_tracker_finish wait. The same rules as of note;
     * all have been told when toll_tracker_finish returns. */
    void (*ending)(void *arg, bool has_failed, const char *sentence);
    void *ending_arg;

    /* What looks like a secret in the command, the name, the labels and the marks of a run (the
     * value of --password, API_KEY=…, a password in a URL, …) is *** in every output. */
    bool show_secrets; /* … is kept as it is */
    bool no_args;      /* of the command only the program's name is kept */

    /* In the background: the process that measures belongs to no target, whatever it descends from.
     * For one that does nothing else, such as a child that a job starts to be measured by. */
    bool without_self;

    /* Launched: the kernel records every process that starts or ends (perf_event_open, no
     * privileges needed), so that processes started are counted exactly, and a child that was
     * discarded without being waited for is noticed even if no look has seen it. Starting a process
     * takes longer. Where the kernel refuses, the run goes on without, with a note. */
    bool watch_exits;
};

/* ---- Outputs ------------------------------------------------------------------------------- */

/* How a summary in text looks. */
enum {
    TOLL_OUTPUT_COLOR = 1 << 0,   /* escape sequences, for a terminal */
    TOLL_OUTPUT_VERBOSE = 1 << 1, /* everything, not only what matters */
};

/* Where to write, and in which format. Series (csv, jsonl, lines) are written as it happens,
 * summaries (json, text) at the end. What is sent over a network goes from a thread of its own,
 * and never holds a sample up. */
struct toll_output {
    size_t size;
    const char *destination; /* a path whose suffix tells the format, or "FORMAT:PLACE"; options
                                may follow, ",key=value"; NULL: write to fd */
    int fd;                  /* borrowed, stays open; only without a destination */
    const char *format;      /* as toll_format_at lists them; NULL: from the suffix */
    unsigned flags;
    const char *layout; /* with the names and units of another tool, see below; NULL: our own */
};

/* One format that can be written. */
struct toll_format {
    const char *name;
    const char *suffix; /* ".csv", or "": it is always named, "FORMAT:PLACE" */
    const char *help;   /* for people: what it holds */
    const char *place;  /* what stands behind "FORMAT:": FILE, URL, … */
};

/* The i-th format, or NULL behind the last. */
const struct toll_format *toll_format_at(size_t i);

/* The format that a destination tells by itself: by the name in front of it, or by its suffix,
 * which need not be the usual one (".db"). NULL: it tells none. */
const struct toll_format *toll_format_of(const char *destination);

/* What can be said to one format, behind a comma of the destination. Where a format has options, a
 * comma that is meant is written twice. */
struct toll_format_option {
    const char *name;
    const char *value;    /* what it takes: TIME, SIZE, NUMBER, TEXT, or words with | between */
    const char *fallback; /* its default, or "" */
    const char *help;
};

/* The i-th option of a format, or NULL behind the last. */
const struct toll_format_option *toll_format_option_at(const struct toll_format *format, size_t i);

/* ---- What could not be sent ----------------------------------------------------------------- */

/* What came of sending it later. */
struct toll_sent {
    size_t size;
    uint64_t samples;       /* that have arrived now … */
    uint64_t refused;       /* … and that never will */
    char run[64];           /* the ID of the run there, of MLflow; otherwise "" */
    uint64_t points;        /* single figures that were sent now … */
    uint64_t points_before; /* … and by an earlier attempt, which are not sent again */
};

/* An output that is sent over a network keeps what it cannot send in a file, where its format says
 * so (mlflow, prometheus, otlp). Sends it, and removes the file when all was taken. destination: as
 * for an output, NULL: where it was meant to go; what is secret comes from variables or files, as
 * it did then. Made for a command's patience: it waits some seconds for a server that is away.
 * -EIO: the file stays, with a mark of how far it was sent, and can be sent again; nothing arrives
 * twice. -EREMOTEIO: it was sent, and some of it was refused for good. -EBUSY: the run that writes
 * it goes on. ret may be NULL. */
int toll_send(const char *spool, const char *destination, struct toll_sent *ret,
              struct toll_error *e);

/* ---- Layouts: the names and units of other tools ------------------------------------------ */

/* A layout writes our figures with the columns, units and order that another tool's users know. It
 * is named with what can be said to it: "resource-tracker", "process-metrics,samples=5". A figure
 * that is not known is empty or null, as that tool has it; what the machine does not have is 0
 * where that tool says 0. docs/layouts.md describes them. */
struct toll_layout {
    const char *name;
    const char *formats;  /* with blanks between: those that have it */
    const char *help;     /* for people */
    uint64_t interval_ns; /* the time between samples that tool has by default; 0: it has none */
};

/* The i-th layout, or NULL behind the last. */
const struct toll_layout *toll_layout_at(size_t i);

/* What can be said to a layout. No string is NULL. */
struct toll_layout_option {
    const char *name;
    const char *value;    /* when nothing is said; "" when that depends on the machine */
    const char *accepted; /* words with blanks between, "NUMBER" or "TEXT" */
    const char *help;
};

/* The i-th option of a layout, or NULL behind the last and where there is no such layout. */
const struct toll_layout_option *toll_layout_option_at(const char *layout, size_t i);

/* One column or key of a layout, and what it is in our words. No string is NULL. */
struct toll_layout_column {
    const char *format;  /* csv, jsonl, … */
    const char *columns; /* the word of the option "columns" that it belongs to, or "" */
    const char *subject; /* target or machine, when there is one set for each; or "" */
    const char *file;    /* its file, where a layout writes several into a directory; or "" */
    const char *name;
    const char *label; /* in a text, or "" */
    const char *terms; /* our figures, with signs between; @… is a fact, =… an option */
    const char *take;  /* value, delta, rate, total, max, mean or share */
    const char *type;  /* integer, float or text */
    double factor;     /* from our unit to theirs, before options */
    unsigned decimals; /* at most so many; 0: all that the number has */
    bool optional;     /* left out when it is 0 or not known */
    const char *scale; /* an option that says the unit, or "" */
    const char *per;   /* an option or figures that it is divided by, of a share: is of; or "" */
};

/* The i-th column of all formats of a layout, or NULL behind the last. */
const struct toll_layout_column *toll_layout_column_at(const char *layout, size_t i);

/* ---- Frames: what one look saw ------------------------------------------------------------- */

/* A frame has a row for each target, for each part of it, for processes, for disks and so on. It
 * never changes; whoever was handed one frees it. */
struct toll_frame {
    uint64_t number;      /* of the tracker's frames, from 0 */
    uint64_t real_ns;     /* when: since 1970 */
    uint64_t elapsed_ns;  /* since the start of the run */
    uint64_t interval_ns; /* since the frame before, really */
    uint64_t missed;      /* samples so far that came too late to be taken */
    uint64_t dropped;     /* frames so far that nobody took in time */
    bool last;            /* the run is over: no frame comes after it */
    size_t row_count;
};

/* What the figures of a row are of. */
struct toll_row {
    const char *entity; /* target, process, cgroup, system, disk, …, self */
    const char *part;   /* of a target: combined, main or descendants; otherwise "" */
    const char *name;   /* of one of several targets, of the process, the disk, …; or "" */
    pid_t pid;          /* of a process, or 0 */
    pid_t parent;       /* … the process it is a child of */
};

/* The i-th row, or NULL behind the last; lives as long as the frame. */
const struct toll_row *toll_frame_row(const struct toll_frame *frame, size_t i);

/* A figure in its metric's unit, by its name without the entity: "cpu_seconds". NAN when it is not
 * known; unknown is never 0. A sum over processes of which one may not be read is not known: the
 * summary has it as a lower bound. */
double toll_row_get(const struct toll_row *row, const char *name);

/* The i-th metric that such a row can have, or NULL behind the last; *ret_value as above. */
const struct toll_metric *toll_row_at(const struct toll_row *row, size_t i, double *ret_value);

/* The name that a metric of this row has as a column, "disk.vda.read_bytes"; of the metric "" what
 * stands before all of them. Written as snprintf does, and as long as returned; 0: rows of single
 * processes are no columns. */
size_t toll_row_column(const struct toll_row *row, const char *metric, char *buf, size_t size);

/* A figure by the name it has as a column: "target_cpu_seconds" of all targets together,
 * "main_memory_rss_bytes", "descendants_…", "system_…", "self_…". NAN when it is not known. */
double toll_frame_get(const struct toll_frame *frame, const char *name);

/* Accepts NULL. */
void toll_frame_free(struct toll_frame *frame);

/* ---- A tracker ----------------------------------------------------------------------------- */

/* What measures: one for each run, from its settings to its summary. */
struct toll_tracker;

/* Settings are checked here; what is wrong with them is -EINVAL and a sentence. Nothing is measured
 * yet. options NULL: the defaults. The caller frees it. */
int toll_tracker_new(struct toll_tracker **ret, const struct toll_options *options,
                     struct toll_error *e);

/* Accepts NULL. Outputs are closed; a command that still runs goes on. Without
 * toll_tracker_finish before it, no summary is written. Does nothing in the tracker's own
 * callbacks, which are in the middle of it. */
void toll_tracker_free(struct toll_tracker *t);

/* Write to one more place; a path that ends with a slash is a directory, for a layout that has
 * several files, of which those stay away that nothing comes into. Files are opened at once, so
 * that a bad path, or one that another tracker writes to (-EBUSY), is known before anything runs; a
 * file made for a command that then could not be started is removed. A summary is written at the
 * end. The reader of a pipe, a terminal or a socket is never waited for while it is measured: up to
 * 16 MiB wait for it, then the oldest samples are dropped and counted. toll_tracker_finish waits
 * for what is left: 5 s for samples, and not longer than a second when none is taken; a summary as
 * long as something is taken every minute. Flags of the descriptor stay as they are. */
int toll_tracker_add_output(struct toll_tracker *t, const struct toll_output *output,
                            struct toll_error *e);

/* Of the GPUs that are read, the utilisation of these alone is added up in gpu_utilization_ratio of
 * the machine: numbers and UUIDs with commas between, each of which has to be there where there is
 * any GPU. NULL: all. Before the start. */
int toll_tracker_count_gpus(struct toll_tracker *t, const char *gpus, struct toll_error *e);

/* A file with the results so far, for the case that the run does not get to its end. It is there
 * from the start on, follows the samples at most once a second, and is removed by
 * toll_tracker_finish. It is a Python pickle, which makes the data classes of
 * toll.compat.gpu_tracker. layout: "gpu-tracker" (or NULL) with its options. Before the start. */
int toll_tracker_keep_backup(struct toll_tracker *t, const char *path, const char *layout,
                             struct toll_error *e);

/* ---- A command ----------------------------------------------------------------------------- */

/* How a command is started. */
struct toll_launch {
    size_t size;
    const sigset_t *signal_mask; /* of the command; NULL: the caller's */
    bool ignore_sigchld;         /* the command starts with SIGCHLD ignored */
    int exec_errno;              /* returned: why the command could not be executed, or 0 */
};

/* Start a command and measure it with all its descendants. A tracker is launched once. The calling
 * process becomes a subreaper, its soft limit of open files is raised to the hard one (the command
 * keeps the old one), and every child that ends is reaped: for programs that wait for no children
 * themselves and do not ignore SIGCHLD. Children it had before do not count as the command's. In a
 * program with several threads, I/O is known only as far as it is seen. launch may be NULL. */
int toll_tracker_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *launch,
                        struct toll_error *e);

/* ---- What runs already --------------------------------------------------------------------- */

/* What can be attached to, and which field of a target names it. */
enum toll_target_kind {
    TOLL_TARGET_PROCESS, /* id: a process with its descendants; 0: the calling process */
    TOLL_TARGET_GROUP,   /* id: all processes of a process group */
    TOLL_TARGET_SESSION, /* id: … of a session */
    TOLL_TARGET_CGROUP,  /* text: … of a cgroup and those below it */
    TOLL_TARGET_MATCH,   /* text: processes whose command line an extended regular expression
                            matches, with their descendants */
    TOLL_TARGET_USER,    /* text: … of a user, by name or number */
};

/* One thing to attach to. With its size alone it is the calling process and its children. */
struct toll_target {
    size_t size;
    enum toll_target_kind kind;
    const char *name; /* of its series; NULL: one is made of kind and id */
    pid_t id;
    const char *text;
};

/* One more target to attach to, up to 63. Several targets are several series, and all of them
 * together one more in which nobody counts twice. target NULL: the calling process. Whether there
 * is such a process is told when measuring begins. */
int toll_tracker_add_target(struct toll_tracker *t, const struct toll_target *target,
                            struct toll_error *e);

/* Begin to measure the targets, the machine (options.system), or both. Nothing is done to the
 * processes; the process that measures never counts itself, which is for toll_tracker_start. What
 * they used before counts only with options.since_start. For each process
 * a few descriptors are kept, as far as the limit of open files allows, which stays as it is. */
int toll_tracker_attach(struct toll_tracker *t, struct toll_error *e);

/* Measure a recorded run instead (see docs/testing.md): for tests and for bug reports. */
int toll_tracker_replay(struct toll_tracker *t, const char *directory, struct toll_error *e);

/* ---- In the background --------------------------------------------------------------------- */

/* Begin to measure as toll_tracker_attach does, in the background: a thread of its own takes the
 * samples until toll_tracker_finish. The program counts where it belongs to a target; what
 * this thread uses does not, except for memory. It has descriptors of its own, where the kernel
 * allows that: the program may close all of its, change its directory, its root and its user.
 * Neither toll_tracker_step nor toll_tracker_fd are for such a tracker. */
int toll_tracker_start(struct toll_tracker *t, struct toll_error *e);

/* Wait until all targets of a tracker in the background have ended, at most so many milliseconds;
 * -1: however long it takes. 0: they have; 1: they have not. From any thread. */
int toll_tracker_wait(struct toll_tracker *t, int timeout_ms);

/* ---- The run and its end ------------------------------------------------------------------- */

/* The pid of the command; 0 before the launch and after it was reaped. */
pid_t toll_tracker_pid(const struct toll_tracker *t);

/* Whether a process is the command or one of its descendants, asked of the kernel now. */
bool toll_tracker_contains(struct toll_tracker *t, pid_t pid);

/* Readable when toll_tracker_step has something to do. Children that end are also told by
 * SIGCHLD: a caller who gets one should step. -1 in the background. */
int toll_tracker_fd(const struct toll_tracker *t);

/* Do what is due; never waits. 1: the target runs, 0: it has ended (of several: all have),
 * negative: an error of the tracker. */
int toll_tracker_step(struct toll_tracker *t);

/* How the command ended. */
struct toll_end {
    size_t size;
    bool ended;    /* false: it still runs, or, with unknown, the record was cut before its end */
    bool signaled; /* ended by a signal */
    bool core_dumped;
    bool unknown;    /* it is not known how it ended: another process waited for it */
    bool oom_killed; /* the kernel says that it killed it for want of memory */
    bool timed_out;  /* options.timeout_ns was over */
    int status;      /* exit code, or the signal's number */
};

/* Stop: take the last sample, settle the totals, hand the summary to every output and close them.
 * The first failure of an output is returned, after all were tried. Frames that wait for the
 * callback are handed to it first. ret_end may be NULL; of several targets only `ended` is told,
 * that all have. -EDEADLK in the tracker's own callbacks, for which it would wait. */
int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end);

/* Ends the wait of toll_tracker_finish for outputs that send, and for slow readers: what has not
 * arrived is spooled or dropped, as when the grace period ends. From any thread, and from a
 * signal's handler. */
void toll_tracker_hurry(struct toll_tracker *t);

/* ---- What it came to, at any time ---------------------------------------------------------- */

/* One figure of the summary: up to the last sample, or final once the tracker has finished. Numbers
 * are in the metric's unit, NAN when not known. */
struct toll_figure {
    size_t size;
    double total;        /* of a counter: what the run used; of a gauge NAN */
    double last;         /* of a gauge: its value at the last sample; of a counter NAN */
    double min, max;     /* of a counter: per second */
    double mean;         /* over time; of a counter: per second */
    uint64_t max_at_ns;  /* since the start of the run; UINT64_MAX when not known, as for a
                            high-water mark that the kernel kept */
    const char *quality; /* exact, exact if reaped, sampled, lower bound, unknown */
    const char *from;    /* the means that gave it, or "" */
};

/* By the name it has as a column: "target_cpu_seconds", "system_memory_used_bytes". -ENOENT when
 * there is no such figure; one that is not known has the quality "unknown". From any thread. */
int toll_tracker_figure(struct toll_tracker *t, const char *name, struct toll_figure *ret);

/* The summary as it would be written now in a format that has one (text, json); flags as for an
 * output. The caller frees it with free(). From any thread. */
int toll_tracker_report(struct toll_tracker *t, const char *format, unsigned flags, char **ret,
                        struct toll_error *e);

/* The same with the format, the flags and the layout of an output, whose destination does not
 * count. From any thread. */
int toll_tracker_report_as(struct toll_tracker *t, const struct toll_output *like, char **ret,
                           struct toll_error *e);

/* The last frame of a tracker in the background; -EAGAIN before the first. From any thread. */
int toll_tracker_frame(struct toll_tracker *t, struct toll_frame **ret);

/* The oldest frame that was not taken yet, once there is one: 0; 1 when there was none for so many
 * milliseconds (-1: however long it takes), or when there will be no more, which the last frame
 * says. For trackers in the background with frames_kept and without a callback. From any thread. */
int toll_tracker_next_frame(struct toll_tracker *t, int timeout_ms, struct toll_frame **ret);

/* ---- Marks: what the program says of itself ------------------------------------------------ */

/* Phases, events and the program's own figures stand in the record among the samples; the summary
 * has what was used in each phase. A phase belongs to a process: to the one that says so, with its
 * descendants. Phases may be nested and may overlap.
 *
 * With the tracker NULL a mark goes to the `toll run` that this program runs under, through the
 * socket that the environment's TOLL_SOCKET names; docs/marks.md has the format for programs in
 * any language. From any thread; a mark never waits for more than some milliseconds.
 *
 * 0: taken. 1: nobody listens, which is no error and costs a microsecond. -EINVAL: the name is
 * empty, longer than 128 bytes or not UTF-8 text without control characters, an attribute is not
 * "key=value", all together are longer than 4000 bytes, or a value is not finite. -EAGAIN: lost,
 * the listener does not keep up; it is told how many were with the next mark of this program. Other
 * errors are those of the socket: the mark is lost, and nothing else. */
int toll_mark_phase_begin(struct toll_tracker *t, const char *name);
int toll_mark_phase_end(struct toll_tracker *t, const char *name);
int toll_mark_gauge(struct toll_tracker *t, const char *name, double value);

/* Something that happened. attributes: "key=value", NULL behind the last; may be NULL. From any
 * thread. */
int toll_mark_event(struct toll_tracker *t, const char *name, const char *const *attributes);

enum toll_mark_kind {
    TOLL_MARK_PHASE_BEGIN,
    TOLL_MARK_PHASE_END,
    TOLL_MARK_EVENT,
    TOLL_MARK_GAUGE,
};

/* Any of them, with all that can be said. From any thread. */
struct toll_mark {
    size_t size;
    enum toll_mark_kind kind;
    const char *name;
    double value;                  /* of a gauge */
    const char *const *attributes; /* as above */
    pid_t pid;                     /* whose mark it is; 0: this process */
};
int toll_mark(struct toll_tracker *t, const struct toll_mark *mark);

/* ---- One look ------------------------------------------------------------------------------ */

/* What a target has used since it began, and has now; target NULL: the machine. The caller frees
 * the frame. options may be NULL; of them metrics, memory, processes, no_children, system, network
 * and gpus count, the last without a default: a driver may take a quarter of a second, and where it
 * takes longer there are no rows of GPUs; of a GPU that was named, up to ten seconds. The calling
 * process alone is read by calls, for less: with no_children, TOLL_PROCESSES_NONE, no gpus and not
 * TOLL_MEMORY_PSS. */
int toll_snapshot(struct toll_frame **ret, const struct toll_target *target,
                  const struct toll_options *options, struct toll_error *e);

/* To look again and again at the same target for less: files stay open in between. */
struct toll_probe;

/* As for toll_snapshot; the caller frees it. */
int toll_probe_new(struct toll_probe **ret, const struct toll_target *target,
                   const struct toll_options *options, struct toll_error *e);

/* One look; the caller frees the frame. -ESRCH when the target has ended, or in a fork. */
int toll_probe_read(struct toll_probe *p, struct toll_frame **ret);

/* Accepts NULL. */
void toll_probe_free(struct toll_probe *p);

/* ---- Frames in a layout ------------------------------------------------------------------- */

/* Turns frames into the rows of a layout, for a program that has them. */
struct toll_translator;

/* layout: as in an output. The table is the one of the layout's first format that has samples,
 * for a target or for the machine, as the first frame has. The caller frees it. */
int toll_translator_new(struct toll_translator **ret, const char *layout, struct toll_error *e);

/* What frames do not say: "pid" of the main process, "group" of the target, "cpus"; "since" is 1
 * when counters count from before the first frame. Frames of toll_snapshot are of no run: before
 * each of them, "elapsed" seconds since the first. -EINVAL when there is no such fact. */
int toll_translator_tell(struct toll_translator *tr, const char *fact, double value);

/* The next frame; what is needed of it for the one after is kept. The number of rows that came of
 * it: one, or one for each target; 0 while a row is made of several samples. -EINVAL when the
 * layout has no table for what the frame is of. */
int toll_translator_frame(struct toll_translator *tr, const struct toll_frame *frame);

/* The i-th column, NULL behind the last and before the first frame. With the prefix of the options
 * in front; lives as long as the translator. */
const char *toll_translator_column(const struct toll_translator *tr, size_t i);

/* What stands in a column of a row: as a number, NAN when it is not known or is text; and as the
 * layout writes it, NULL when it is not known, until the next one is asked for. */
double toll_translator_value(const struct toll_translator *tr, size_t row, size_t column);
const char *toll_translator_text(struct toll_translator *tr, size_t row, size_t column);

/* Accepts NULL. */
void toll_translator_free(struct toll_translator *tr);

/* ---- Code blocks: files that others know --------------------------------------------------- */

/* What each code block of a finished run used, told from two files: one with a row for each time
 * point (a tracking file of gpu-tracker, or what its layout writes), one with the moments at which
 * blocks began and ended (a sub-tracking file). Both are .csv or .sqlite. docs/layouts.md has
 * their columns. What is returned is freed with free(). */

/* format: "text" (or NULL) or "json". blocks NULL: the run alone. points may be a record of toll
 * (.jsonl or .sqlite) with one run in it: then blocks NULL are its phases. It may also be a file
 * with the results of an analysis, as JSON or as a pickle: then these are read again. */
int toll_phases_analyze(const char *points, const char *blocks, const char *format, char **ret,
                        struct toll_error *e);

/* Several sub-tracking files into one that is not there yet, with the same suffix. files: NULL
 * behind the last. */
int toll_phases_combine(const char *destination, const char *const *files, struct toll_error *e);

/* A tracking file, .csv, as one in SQLite, which takes the place of a file that is there. */
int toll_phases_store(const char *points, const char *destination, struct toll_error *e);

/* What runs are compared. */
struct toll_comparison {
    size_t size;
    const char *const *sessions; /* "NAME=FILE", NULL behind the last: analyses as json or
                                    pickles (of gpu_tracker too), or tracking files, of which
                                    there are no blocks */
    const char *statistic;       /* "min", "max", "mean" (or NULL) or "std" */
    const char *format;          /* as above */
    void (*note)(void *arg,
                 const char *sentence); /* of blocks that differ by their line; or NULL */
    void *note_arg;
};

/* One statistic of each figure, of one run beside the other, the smallest first. */
int toll_phases_compare(const struct toll_comparison *comparison, char **ret, struct toll_error *e);

/* The data in a Python pickle of gpu_tracker, or of toll in its place, as JSON: results of an
 * analysis, or what a Tracker found. Nothing in the file is ever run; -EOPNOTSUPP and its name when
 * there is anything else than data in it. */
int toll_pickle_to_json(const char *path, char **ret, struct toll_error *e);

/* ---- Records: runs that were measured before ----------------------------------------------- */

/* What to make of a record, a file in the format jsonl or sqlite. Zero is the default of every
 * field. */
struct toll_export {
    size_t size;
    const char *record;  /* its path; NULL: read from fd */
    int fd;              /* borrowed, stays open; only without a path, of jsonl */
    uint64_t run;        /* of several runs in it only this one, by its number; 0: all, in order */
    const char *metrics; /* globs with commas between; NULL: all that the record has */
    const struct toll_output *const *outputs; /* where to write, NULL behind the last */

    /* Called with one sentence for what is not as it should be, such as a run that was cut short,
     * which is no error. Borrowed for the call. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;

    bool show_secrets; /* as in struct toll_options: what the record has of them is written … */
    bool no_args;      /* … of commands only the program's name */
};

/* Write what a record holds in other formats, as they would have been written while it was
 * measured. The record may still grow, or end in the middle: then its summary is made of the
 * samples that are there. A file is replaced once all of it is written; when anything fails, files
 * stay as they were. -EBADMSG and the number of the line, or of the run: the record is damaged.
 * -ENOENT: there is no such file or no such run. -EINVAL: a SQLite file of somebody else. */
int toll_record_export(const struct toll_export *x, struct toll_error *e);

/* One run of a record. */
struct toll_run {
    uint64_t number;            /* from 1 in the order of the file; in SQLite the file's own */
    const char *name;           /* or "" */
    const char *const *command; /* NULL behind the last; none: it was attached, or of the machine */
    const char *const *labels;  /* "key=value", NULL behind the last */
    const char *host;
    const char *version; /* of the toll that measured it */
    uint64_t start_ns;   /* since 1970 */
    uint64_t elapsed_ns; /* how long it was, as far as the record tells */
    uint64_t samples;
    bool cut_short; /* the record has no end of it */
    struct toll_end end;
    const char *const *attached_to; /* in words, NULL behind the last; none: it was not attached */
    const char *id; /* its own, a UUID; "": of a record that toll wrote before runs had one */
};

/* Calls back with each run of a record, in order. What it is given is borrowed for the call; what
 * looks like a secret in it is ***. */
int toll_record_runs(const char *path, void (*run)(void *arg, const struct toll_run *run),
                     void *arg, struct toll_error *e);

/* ---- What can be measured here ------------------------------------------------------------- */

/* How much of something can be measured. */
enum toll_check_state {
    TOLL_CHECK_OK,
    TOLL_CHECK_PARTLY,  /* something is missing; the detail says what */
    TOLL_CHECK_MISSING, /* nothing of it can be measured */
    TOLL_CHECK_UNKNOWN, /* it cannot be found out, on a recorded machine for instance */
};

/* What was found out about one kind of figure. No string is NULL. */
struct toll_check {
    const char *name;  /* one word: "energy" */
    const char *title; /* for people */
    enum toll_check_state state;
    bool essential;      /* every job needs it; of the others some machines have none */
    const char *means;   /* the kernel's file or call that gives it, or would */
    const char *quality; /* how exact: exact, sampled or lower bound; "" when there is none */
    const char *detail;  /* what was found; what is missing and why */
    const char *remedy;  /* the one command or permission that would help, or "" */
};

/* The i-th check, or NULL behind the last: name, title and essential, nothing is tried. */
const struct toll_check *toll_check_at(size_t i);

/* What came of all checks. */
struct toll_diagnosis;

/* Try everything that toll reads, once: it takes some milliseconds, leaves nothing behind, and a
 * child that ends at once is started and waited for. root NULL is this machine, else a directory
 * with a recorded proc and sys in it. */
int toll_diagnosis_new(struct toll_diagnosis **ret, const char *root, struct toll_error *e);

/* What came of the i-th check; lives as long as the diagnosis. */
const struct toll_check *toll_diagnosis_at(const struct toll_diagnosis *d, size_t i);

/* Accepts NULL. */
void toll_diagnosis_free(struct toll_diagnosis *d);

#ifdef __cplusplus
}
#endif
#endif
