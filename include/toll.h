/* SPDX-License-Identifier: MIT
 *
 * libtoll measures what a job used: CPU, memory, storage, network, energy. It measures a command
 * that it starts, processes that are already running, the calling program, or the whole machine.
 *
 * Run a command and wait for it:
 *
 *     char *argv[] = {"make", "-j4", NULL};
 *     struct toll_summary s = TOLL_INIT(toll_summary);
 *     struct toll_error e;
 *
 *     if (toll_run_command(argv, NULL, &s, &e) < 0)
 *         fprintf(stderr, "%s\n", e.message);
 *     else
 *         printf("%g s of CPU time, exit status %d\n", s.cpu_seconds, s.exit_status);
 *
 * Measure this program while it works:
 *
 *     struct toll_tracker *t = NULL;
 *
 *     toll_measure_self(&t, NULL, &e);            // a thread of the library takes samples
 *     toll_mark_phase_begin(t, "load");
 *     load();
 *     toll_mark_phase_end(t, "load");
 *     toll_tracker_finish(t, NULL);               // last sample
 *     toll_tracker_summary(t, &s);
 *     toll_tracker_free(t);
 *
 * Start a command in an event loop, without a thread, and keep a record of the run:
 *
 *     struct toll_output out = {.size = sizeof out, .destination = "run.jsonl"};
 *
 *     toll_tracker_new(&t, NULL, &e);             // checks the settings
 *     toll_tracker_add_output(t, &out, &e);       // any number of outputs
 *     toll_tracker_launch(t, argv, NULL, &e);     // the command runs from here on
 *     while (toll_tracker_step(t) == TOLL_RUNNING)
 *         wait_until_readable(toll_tracker_fd(t)); // step itself never blocks
 *     toll_tracker_finish(t, NULL);               // last sample, summary to every output
 *     toll_tracker_free(t);
 *
 * To measure processes that are already running, call toll_tracker_add_target and
 * toll_tracker_attach instead of toll_tracker_launch. To read current values once, call
 * toll_snapshot.
 *
 * The library prints nothing, handles no signals, never exits, and starts threads only for
 * toll_tracker_start and for reading GPUs (options.gpus).
 *
 * Results: calls return 0 or a value of the enum they name, or a negative errno. Calls that set
 * something up also write one sentence for the user into a struct toll_error, which may be NULL.
 * NULL for a pointer that must not be NULL, and a call that the tracker's state does not allow, is
 * -EINVAL; calls that return a pointer, a number or a bool return NULL, NAN, 0 or false. A call
 * that fails leaves the tracker as it was: after a refused launch, attach or start, correct the
 * cause and try again.
 *
 * Threads: different trackers are independent. One tracker is used from one thread at a time,
 * except for calls marked "From any thread", which may be made at any time between
 * toll_tracker_start and toll_tracker_free. After a fork the child has no tracker: calls with the
 * parent's tracker do nothing there and return -ESRCH.
 *
 * Growth: structs that a program fills in, or has filled in, begin with their size; use TOLL_INIT.
 * A newer library leaves fields that the program does not know at their defaults. An older library
 * returns -E2BIG for a field it does not know. Structs that the library hands out as pointers may
 * get new fields at their end: do not copy them. struct toll_error never changes.
 *
 * toll_compat.h has further calls for layers that imitate other tools. They are not stable.
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

/* The version of this header. The number is major * 10000 + minor * 100 + patch, for #if. */
#define TOLL_VERSION        "0.1.0"
#define TOLL_VERSION_NUMBER 100

/* The version of the library in use, which may be newer than this header. */
const char *toll_version(void);
int toll_version_number(void);

/* The initial value of a struct that begins with its size; every other field is 0. In C,
 * {.size = sizeof o, …} does the same and can set further fields.
 *
 *     struct toll_options o = TOLL_INIT(toll_options); */
#if defined(__cplusplus)
#define TOLL_INIT(type)                                                                            \
    [] {                                                                                           \
        struct type toll_init_ = {};                                                               \
        toll_init_.size = sizeof toll_init_;                                                       \
        return toll_init_;                                                                         \
    }()
#else
#define TOLL_INIT(type)                                                                            \
    {                                                                                              \
        .size = sizeof(struct type)                                                                \
    }
#endif

/* Why a call failed. */
struct toll_error {
    int code;          /* negative errno */
    char message[512]; /* one sentence, no newline */
};

/* How a value was obtained, best last. */
enum toll_quality {
    TOLL_QUALITY_UNKNOWN,
    TOLL_QUALITY_LOWER_BOUND,     /* at least this much: some usage is known to be missing */
    TOLL_QUALITY_SAMPLED,         /* read at intervals */
    TOLL_QUALITY_EXACT_IF_REAPED, /* kernel counter; misses children that were never waited for,
                                     of which none was seen */
    TOLL_QUALITY_EXACT,           /* kernel counter that misses nothing */
};

/* "unknown", "lower bound", "sampled", "exact if reaped", "exact"; NULL for other numbers. */
const char *toll_quality_word(enum toll_quality quality);

/* ---- Metrics ------------------------------------------------------------------------------- */

/* One row of the metric table. The strings are static. */
struct toll_metric {
    const char *entity; /* what it is measured of: process, system, disk, self, … */
    const char *name;   /* without the entity: cpu_user_seconds */
    const char *title;  /* for people: "CPU time, user" */
    const char *kind;   /* counter or gauge */
    const char *unit;   /* seconds, bytes, cores, ratio, joules, …, or "" for a plain number */
    const char *fold;   /* how the values of processes are combined into one of the target */
    const char *cost;   /* cheap, refresh (read about once a second) or slow (within the budget) */
    const char *source; /* kernel file or system call */
    const char *otel;   /* name in OpenTelemetry, or "" */
    const char *help;
};

/* The metric with this number, from 0; NULL after the last. */
const struct toll_metric *toll_metric_at(size_t i);

/* The number of a metric, for toll_metric_at and toll_row_value. Targets have the metrics of the
 * entity "process"; "target" means the same. -ENOENT: there is no such metric. */
int toll_metric_find(const char *entity, const char *name);

/* A number as the summary for people shows it: "4m 31s" for 271 seconds, "1.82 GiB", "23.5 %",
 * "1,234"; "unknown" for NAN. unit: as in struct toll_metric. Writes at most size bytes and returns
 * the full length, as snprintf does. 0: there is no such unit. */
size_t toll_number_text(double number, const char *unit, char *buf, size_t size);

/* ---- Settings ------------------------------------------------------------------------------ */

/* When the proportional set size (PSS) is read. Reading it takes milliseconds per gigabyte and
 * holds a lock of the process. */
enum toll_memory {
    TOLL_MEMORY_AUTO, /* as often as the budget allows */
    TOLL_MEMORY_RSS,  /* never */
    TOLL_MEMORY_PSS,  /* at every refresh, whatever it costs */
};

/* Which processes get separate rows in series. */
enum toll_processes {
    TOLL_PROCESSES_TOP, /* the twenty largest, once a second */
    TOLL_PROCESSES_NONE,
    TOLL_PROCESSES_ALL, /* every process, every sample */
};

/* When the run of a command is over. */
enum toll_wait {
    TOLL_WAIT_MAIN, /* when the command has ended */
    TOLL_WAIT_ALL,  /* when its last descendant has ended */
};

/* Launch: whether the command gets a separate cgroup, in which the kernel counts everything. */
enum toll_own_cgroup {
    TOLL_OWN_CGROUP_AUTO,   /* for limits; and for network bytes, if it can be made where a command
                               that reads the limits of its cgroup finds the same as without it */
    TOLL_OWN_CGROUP_ALWAYS, /* in every hierarchy, for CPU, memory, I/O and tasks; or fail */
    TOLL_OWN_CGROUP_NEVER,  /* only for limits */
};

struct toll_frame; /* one sample, see below */

/* The metrics that "basic" selects wherever metrics are selected: what most people plot. */
#define TOLL_METRICS_BASIC                                                                         \
    "[!c]*_cpu_seconds,cpu_cores,memory_rss_bytes,memory_pss_bytes,memory_used_bytes,"             \
    "storage_read_bytes,storage_written_bytes,disk_read_bytes,disk_written_bytes,"                 \
    "network_received_bytes,network_sent_bytes,gpu_utilization_ratio,gpu_memory_bytes"

/* Zero is the default of every field. Pointers are borrowed until toll_tracker_new returns. */
struct toll_options {
    size_t size;
    uint64_t interval_ns;  /* time between samples; 0 = auto: short at first, longer in long runs */
    uint64_t timeout_ns;   /* send SIGTERM to a command that runs longer; 0 = never */
    uint64_t grace_ns;     /* time from SIGTERM to SIGKILL; 0 = 10 s */
    double budget_percent; /* share of one core for slow reads; 0 = 1 */
    const char *metrics;   /* comma-separated globs for names of metrics, or "basic"; NULL = all */
    const char *name;      /* of the run; NULL = the command's */
    const char *const *labels; /* "key=value", NULL-terminated */

    /* Which GPUs are read, in a separate thread: "all", "none", "visible" (respects
     * CUDA_VISIBLE_DEVICES and the like), or comma-separated numbers and UUIDs, each of which must
     * exist. NULL: "visible", without a note when there are none. */
    const char *gpus;

    enum toll_memory memory;
    enum toll_processes processes;
    enum toll_wait wait;

    bool no_children; /* measure the command or the named processes only, not their descendants */
    bool system;      /* measure the machine too: CPUs, memory, disks, filesystems, interfaces, ….
                         A helper process asks for the size of network filesystems; it sends no
                         SIGCHLD, and wait(2) does not return it */
    bool network;     /* measure network bytes of the target; costs more than all the rest, unless
                         packets of a launched command can be counted in the kernel */
    bool since_start; /* attach: count from the start of the processes, not from the attach */
    bool no_marks;    /* launch: open no socket for marks of the command */

    /* Values that look like secrets in the command, the name, the labels and the marks (the value
     * of --password, API_KEY=…, a password in a URL, …) are replaced by ***. */
    bool show_secrets; /* keep them */
    bool no_args;      /* keep only the program's name of the command */

    /* Background: the measuring process belongs to no target. For a child process that a job starts
     * only to be measured by it. */
    bool without_self;

    /* Launch: let the kernel record every process that starts or ends (perf_event_open, or where
     * that is refused process events of netlink; no privileges needed). Started processes are then
     * counted exactly, and children that were discarded without a wait are noticed. Starting a
     * process takes longer. If the kernel refuses both, the run continues without, with a note. */
    bool watch_exits;

    /* Background: called for every frame, in order, on a separate thread. A slow callback delays no
     * sample; it misses frames, which frame->dropped counts. The frame is borrowed for the call.
     * The callback may make the calls marked "From any thread". */
    void (*frame)(void *arg, const struct toll_frame *frame);
    void *frame_arg;

    /* Called once with each sentence about something that cannot be measured or written; the
     * summary repeats them. The sentence is borrowed for the call. The callback must not call the
     * tracker. It runs in the thread that steps; in the background, in the thread of the frame
     * callback. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;

    /* Called instead of note at the end of the run: for each output that is incomplete or was
     * spooled (has_failed), and for each that toll_tracker_finish waits for. Same rules as note.
     * All calls are made before toll_tracker_finish returns. */
    void (*ending)(void *arg, bool has_failed, const char *sentence);
    void *ending_arg;

    size_t
        frames_kept; /* frames that wait for the callback or for toll_tracker_next_frame; when
                        there are more, the oldest is dropped. 0: 64 with a callback, else none */

    /* Launch: limits of the command, all of its processes together; 0 = none. They need a cgroup of
     * its own, and the launch fails where none can be made. */
    uint64_t memory_max_bytes;
    double cpu_max_cores;
    uint64_t pids_max; /* processes and threads */
    enum toll_own_cgroup own_cgroup;

    unsigned threads; /* rows for so many of the busiest threads, of the processes that use most CPU
                         time, about once a second; 0 = none, at most 256 in all */

    /* The share of the target in the energy of processors (RAPL) and GPUs, as an interval: a low
     * end, as if an idle machine belonged to no job, and a high end, as if it belonged to those
     * that ran. Any of the following switches it on. A run of less than a second has none. */
    bool energy;

    /* Launch: count everything exactly where the kernel allows it: a separate cgroup, and a record
     * of the end of every process, however short it lived. Where the kernel refuses, the run
     * continues without, with a note. */
    bool exact;
    bool reserved[2];       /* 0 */
    const char *carbon;     /* grams of CO2e for a kWh, or a file with lines of a time and grams */
    const char *price;      /* money for a kWh: "0.30" or "0.30EUR" */
    const char *price_hour; /* money for an hour of the run, added to that for energy */
    double pue;             /* power usage effectiveness: factor on the energy; 0 = 1 */
};

/* ---- Outputs ------------------------------------------------------------------------------- */

/* Flags of a summary as text. */
enum {
    TOLL_OUTPUT_COLOR = 1 << 0,   /* terminal colours */
    TOLL_OUTPUT_VERBOSE = 1 << 1, /* every figure, including zero and unknown ones */
    TOLL_OUTPUT_ASCII = 1 << 2,   /* no other characters, for a terminal without UTF-8 */
    TOLL_OUTPUT_HINTS = 1 << 3,   /* options of the toll command that show or keep more */
    TOLL_OUTPUT_BYTES = 1 << 4,   /* sizes in plain bytes */
    TOLL_OUTPUT_SI = 1 << 5,      /* sizes in kB, MB, …: powers of 1000, not of 1024 */
};

/* Flags of a file. */
enum {
    TOLL_OUTPUT_APPEND = 1 << 6, /* add the run to a file that exists, such as a record; not for
                                    formats that hold one run */
};

/* Where to write, and in which format. Series (csv, jsonl, lines, …) are written during the run,
 * summaries (json, text) at its end. Outputs on a network are sent by a separate thread and never
 * delay a sample. */
struct toll_output {
    size_t size;
    const char *destination; /* a path whose suffix gives the format, or "FORMAT:PLACE"; options may
                                follow as ",key=value". NULL: write to fd */
    const char *format;      /* a name from toll_format_at; NULL: from the suffix */
    const char *layout; /* columns and units of another tool (see toll_compat.h); NULL: toll's */
    int fd;             /* borrowed, stays open; used only without a destination */
    unsigned flags;     /* TOLL_OUTPUT_… */
    unsigned columns;   /* width of the terminal, for a summary as text; 0: 80 */
    unsigned reserved;  /* 0 */
};

/* One format. The strings are static. */
struct toll_format {
    const char *name;
    const char *suffix; /* ".csv"; "" if the format must be named: "FORMAT:PLACE" */
    const char *help;   /* for people: what it contains */
    const char *place;  /* what follows "FORMAT:": FILE, URL, … */
};

/* The i-th format; NULL after the last. */
const struct toll_format *toll_format_at(size_t i);

/* The format that a destination implies by its prefix or by its suffix, of which some have several
 * (".sqlite", ".db"). NULL: none. */
const struct toll_format *toll_format_of(const char *destination);

/* One option of a format: ",name=value" after the place. In a destination of a format that has
 * options, a literal comma is written twice. */
struct toll_format_option {
    const char *name;
    const char *value;    /* TIME, SIZE, NUMBER, TEXT, or words separated by | */
    const char *fallback; /* default, or "" */
    const char *help;
};

/* The i-th option of a format; NULL after the last. */
const struct toll_format_option *toll_format_option_at(const struct toll_format *format, size_t i);

/* ---- Spooled output ------------------------------------------------------------------------ */

/* What toll_send did. */
struct toll_sent {
    size_t size;
    uint64_t samples;       /* that arrived now */
    uint64_t refused;       /* samples that the server rejected for good */
    uint64_t points;        /* single values sent now */
    uint64_t points_before; /* values that an earlier attempt sent; they are not sent again */
    char run[64];           /* MLflow: the ID of the run; otherwise "" */
};

/* Send what an output could not send. Formats mlflow, prometheus and otlp keep it in a spool file,
 * which is removed once everything was accepted. destination: as for an output; NULL: the original
 * one. Secrets come from variables or files, as before. Waits some seconds for an unreachable
 * server. -EIO: not everything could be sent; the file remains and can be sent again, nothing
 * arrives twice. -EREMOTEIO: everything was sent and some of it was rejected for good. -EBUSY: the
 * run that writes the file is still active. ret may be NULL. */
int toll_send(const char *spool, const char *destination, struct toll_sent *ret,
              struct toll_error *e);

/* ---- Frames: one sample -------------------------------------------------------------------- */

/* A frame has a row for each target, each part of it, processes, disks and so on. It never changes.
 * The caller that received a frame frees it. */
struct toll_frame {
    uint64_t number;      /* counted per tracker, from 0 */
    uint64_t real_ns;     /* time of the sample since 1970 */
    uint64_t elapsed_ns;  /* since the start of the run */
    uint64_t interval_ns; /* actual time since the previous frame */
    uint64_t missed;      /* samples so far that were skipped because they came too late */
    uint64_t dropped;     /* frames so far that were not taken in time */
    bool last;            /* no frame follows */
    size_t row_count;
};

/* What the values of a row are measured of. */
struct toll_row {
    const char *entity; /* target, process, cgroup, system, disk, …, self */
    const char *part;   /* of a target: combined, main or descendants; otherwise "" */
    const char *name;   /* of one of several targets, of a process, a disk, …; or "" */
    pid_t pid;          /* of a process, or 0 */
    pid_t parent;       /* of a process: its parent */
};

/* The i-th row; NULL after the last. It lives as long as the frame. */
const struct toll_row *toll_frame_row(const struct toll_frame *frame, size_t i);

/* A value by the number of its metric (toll_metric_find), in the metric's unit. NAN: not known, or
 * not a metric of this row. A sum that lacks a process which could not be read is not known; the
 * summary has it as a lower bound. */
double toll_row_value(const struct toll_row *row, int metric);

/* The same by name, without the entity: "cpu_seconds". -ENOENT: rows of this entity have no such
 * metric. */
int toll_row_get(const struct toll_row *row, const char *name, double *ret_value);

/* The i-th metric of this row, and its value unless ret_value is NULL; NULL after the last. */
const struct toll_metric *toll_row_at(const struct toll_row *row, size_t i, double *ret_value);

/* The name of a column: "disk.vda.read_bytes" for the metric "read_bytes"; the prefix alone for "".
 * Writes at most size bytes and returns the full length, as snprintf does. 0: rows of single
 * processes are not columns. */
size_t toll_row_column(const struct toll_row *row, const char *metric, char *buf, size_t size);

/* A value by the name of its column: "target_cpu_seconds" (all targets together),
 * "main_memory_rss_bytes", "descendants_…", "system_…", "self_…". The value is NAN when it is not
 * known or this frame has no such row. -ENOENT: no frame can have such a column. */
int toll_frame_get(const struct toll_frame *frame, const char *name, double *ret_value);

/* Accepts NULL. */
void toll_frame_free(struct toll_frame *frame);

/* The frame as bytes, for another process, a file or another machine. The caller frees *ret with
 * free(). */
int toll_frame_pack(const struct toll_frame *frame, void **ret, size_t *ret_size);

/* A frame from such bytes; the caller frees it. Metrics that this version of toll does not have are
 * left out. Any bytes are safe: -EBADMSG when they are not a frame or are damaged, -EOPNOTSUPP when
 * a newer version packed them. */
int toll_frame_unpack(struct toll_frame **ret, const void *bytes, size_t size,
                      struct toll_error *e);

/* A chart of the figures of frames. */
struct toll_chart {
    size_t size;
    const char *name;  /* "cpu" */
    const char *title; /* "CPU" */
    const char *about; /* "cores in use" */
};

/* The i-th chart that can be drawn. -ENOENT after the last. */
int toll_chart_at(size_t i, struct toll_chart *ret);

/* How frames are drawn. Zero is the default of every field. */
struct toll_drawing {
    size_t size;
    const char *charts;   /* comma-separated names; NULL: the first two with figures, which are CPU
                             and memory unless only the machine was measured */
    const char *format;   /* "svg" (NULL), a document; or "json", the curves as numbers */
    double cores_allowed; /* drawn as a line; 0: none */
    double memory_limit_bytes; /* the same */
};

/* Draw frames of one run, in their order, over the time since its start. However many there are, a
 * curve has at most 800 columns, each with the mean, the smallest and the largest value. Charts
 * without figures are left out. how may be NULL; the caller frees *ret with free(). -EINVAL: an
 * unknown chart or format. */
int toll_frames_draw(const struct toll_frame *const *frames, size_t count,
                     const struct toll_drawing *how, char **ret, struct toll_error *e);

/* ---- A tracker ----------------------------------------------------------------------------- */

/* Measures one run, from its settings to its summary. */
struct toll_tracker;

/* Check the settings and make a tracker. Nothing is measured yet. options NULL: the defaults. The
 * caller frees it. */
int toll_tracker_new(struct toll_tracker **ret, const struct toll_options *options,
                     struct toll_error *e);

/* Close the outputs and free the tracker. Accepts NULL. A command that still runs continues.
 * Without toll_tracker_finish before it, no summary is written. Does nothing when called from one
 * of the tracker's callbacks. */
void toll_tracker_free(struct toll_tracker *t);

/* Add an output, before the start. A path that ends with a slash is a directory, for layouts with
 * several files. Files are opened at once, so that a bad path, or one that another tracker writes
 * to (-EBUSY), is reported before anything runs; a file made for a command that could not be
 * started is removed. A slow reader of a pipe, terminal or socket never delays a sample: up to
 * 16 MiB are queued, then the oldest samples are dropped and counted. toll_tracker_finish waits for
 * the rest: 5 s for samples, or 1 s without progress; for a summary as long as there is progress
 * every minute. The descriptor's flags are not changed. */
int toll_tracker_add_output(struct toll_tracker *t, const struct toll_output *output,
                            struct toll_error *e);

/* ---- Starting a command -------------------------------------------------------------------- */

/* How a command is started. */
struct toll_launch {
    size_t size;
    const sigset_t *signal_mask; /* of the command; NULL: the caller's */
    bool ignore_sigchld;         /* start the command with SIGCHLD ignored */
    int exec_errno;              /* returned: why the command could not be executed, or 0 */
};

/* Start a command and measure it with all its descendants. The calling process becomes a subreaper,
 * its soft limit of open files is raised to the hard limit (the command keeps the old one), and
 * every child that ends is reaped: use it in programs that wait for no children themselves and do
 * not ignore SIGCHLD. Children that existed before do not count. In a program with several threads,
 * I/O is sampled. launch may be NULL. */
int toll_tracker_launch(struct toll_tracker *t, char *const argv[], struct toll_launch *launch,
                        struct toll_error *e);

/* ---- Running processes --------------------------------------------------------------------- */

/* What a target is, and which field names it. */
enum toll_target_kind {
    TOLL_TARGET_PROCESS, /* id: a process with its descendants; 0: the calling process */
    TOLL_TARGET_GROUP,   /* id: all processes of a process group */
    TOLL_TARGET_SESSION, /* id: all processes of a session */
    TOLL_TARGET_CGROUP,  /* text: all processes of a cgroup and the cgroups below it */
    TOLL_TARGET_MATCH,   /* text: processes whose command line matches an extended regular
                            expression, with their descendants */
    TOLL_TARGET_USER,    /* text: all processes of a user, by name or number */
};

/* One target. TOLL_INIT(toll_target) is the calling process and its children. */
struct toll_target {
    size_t size;
    enum toll_target_kind kind;
    pid_t id;
    const char *text;
    const char *name; /* of its series; NULL: made from kind and id */
};

/* Add a target, before the start; at most 63. Each has a series, and all together have one more in
 * which no process counts twice. target NULL: the calling process. Whether the process exists is
 * checked at the start. */
int toll_tracker_add_target(struct toll_tracker *t, const struct toll_target *target,
                            struct toll_error *e);

/* Begin to measure the targets, the machine (options.system), or both. The processes are not
 * affected. The calling process cannot be a target here; use toll_tracker_start. What the processes
 * used before counts only with options.since_start. A few descriptors are kept for each process, as
 * far as the limit of open files allows, which is not changed. */
int toll_tracker_attach(struct toll_tracker *t, struct toll_error *e);

/* ---- In the background --------------------------------------------------------------------- */

/* Begin to measure as toll_tracker_attach does, in a separate thread, until toll_tracker_finish.
 * The calling program may be a target; what the thread uses is left out, except for memory. The
 * thread has its own descriptor table where the kernel allows that: the program may close all
 * descriptors, change its directory, its root and its user. toll_tracker_step and toll_tracker_fd
 * are not for such a tracker. */
int toll_tracker_start(struct toll_tracker *t, struct toll_error *e);

/* Measure the calling program and its children in the background: toll_tracker_new,
 * toll_tracker_add_target and toll_tracker_start in one call. options may be NULL. */
int toll_measure_self(struct toll_tracker **ret, const struct toll_options *options,
                      struct toll_error *e);

/* ---- The run and its end ------------------------------------------------------------------- */

/* What toll_tracker_step and toll_tracker_wait return. */
enum toll_progress {
    TOLL_ENDED,   /* all targets have ended */
    TOLL_RUNNING, /* at least one target runs */
};

/* Take a sample and handle ended processes if it is time to; never blocks. Returns an enum
 * toll_progress. */
int toll_tracker_step(struct toll_tracker *t);

/* Readable when toll_tracker_step has work to do. Children that end are also announced by SIGCHLD:
 * a caller that receives one should step. -EINVAL in the background. */
int toll_tracker_fd(const struct toll_tracker *t);

/* Background: wait until all targets have ended, for at most timeout_ms milliseconds; -1: without
 * limit. Returns an enum toll_progress. From any thread. */
int toll_tracker_wait(struct toll_tracker *t, int timeout_ms);

/* The pid of the command; 0 before the launch and after it was reaped. */
pid_t toll_tracker_pid(const struct toll_tracker *t);

/* Whether a process is the command or one of its descendants at this moment. */
bool toll_tracker_contains(struct toll_tracker *t, pid_t pid);

/* How a run ended. */
struct toll_end {
    size_t size;
    bool ended;    /* false: it still runs, or, with unknown, the record is incomplete */
    bool signaled; /* ended by a signal */
    bool core_dumped;
    bool unknown;        /* exit status unknown: another process waited for it */
    bool oom_killed;     /* killed by the OOM killer */
    bool timed_out;      /* options.timeout_ns was exceeded */
    int status;          /* exit code, or number of the signal */
    uint64_t elapsed_ns; /* how long the run took */
};

/* End the measuring: take the last sample, compute the totals, write the summary to every output
 * and close them. Returns the first failure of an output after all were tried. Waiting frames are
 * passed to the callback first. ret_end may be NULL; with several targets only ended is known.
 * -EDEADLK when called from one of the tracker's callbacks. */
int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end);

/* Make toll_tracker_finish stop waiting for slow outputs: what has not arrived is spooled or
 * dropped, as at the end of the grace period. From any thread, and from a signal handler. */
void toll_tracker_hurry(struct toll_tracker *t);

/* ---- Results ------------------------------------------------------------------------------- */

/* What most programs want to know of a run, for all targets together. A value that is not known is
 * NAN. */
struct toll_summary {
    size_t size;
    double wall_seconds;
    double cpu_seconds; /* user and system */
    double cpu_user_seconds;
    double cpu_system_seconds;
    double memory_peak_bytes; /* largest resident size of all processes together, or of the largest
                                 process where samples missed its peak; NAN for a command that ended
                                 within some milliseconds */
    double io_read_bytes;
    double io_written_bytes;
    double processes_started;
    enum toll_quality cpu_quality;
    enum toll_quality memory_quality;
    enum toll_quality io_quality;
    int exit_status; /* of a command, as in a shell: 128 + number for a signal; -1: not known */
};

/* The summary up to the last sample, or final after toll_tracker_finish. From any thread. */
int toll_tracker_summary(struct toll_tracker *t, struct toll_summary *ret);

/* Run a command, measure it, and wait until it has ended; see toll_tracker_launch. options may be
 * NULL. A command that cannot be executed is an error, its exit status is not. */
int toll_run_command(char *const argv[], const struct toll_options *options,
                     struct toll_summary *ret, struct toll_error *e);

/* One figure of the summary. Numbers are in the metric's unit, NAN when not known. */
struct toll_figure {
    size_t size;
    double total;       /* counter: what the run used; gauge: NAN */
    double last;        /* gauge: value at the last sample; counter: NAN */
    double min, max;    /* counter: per second */
    double mean;        /* over time; counter: per second */
    uint64_t max_at_ns; /* since the start of the run; UINT64_MAX when not known, as for a
                           high-water mark that the kernel kept */
    const char *from;   /* the source of the value, or "" */
    const char *quality_word;
    enum toll_quality quality;
    int metric; /* its number, see toll_metric_at */
};

/* By the name of its column: "target_cpu_seconds", "system_memory_used_bytes". -ENOENT: there is no
 * such figure in this run. From any thread. */
int toll_tracker_figure(struct toll_tracker *t, const char *name, struct toll_figure *ret);

/* All completed phases of one name; see toll_mark_phase_begin. */
struct toll_phase {
    size_t size;
    const char *name; /* lives as long as the tracker */
    uint64_t count;
    uint64_t not_ended; /* ended by the end of the run */
    uint64_t total_ns, min_ns, max_ns;
};

/* The i-th phase name, in the order of their first end. -ENOENT after the last. From any thread. */
int toll_tracker_phase(struct toll_tracker *t, size_t i, struct toll_phase *ret);

/* What all phases of a name used: total of a counter, max and mean of a gauge. metric: without the
 * entity, "cpu_seconds". -ENOENT: there is no such phase, or phases do not have this metric. From
 * any thread. */
int toll_tracker_phase_figure(struct toll_tracker *t, const char *phase, const char *metric,
                              struct toll_figure *ret);

/* One of the program's own figures; see toll_mark_gauge. */
struct toll_gauge {
    size_t size;
    const char *name; /* lives as long as the tracker */
    uint64_t count;
    double last, min, max, mean;
    uint64_t max_at_ns; /* since the start of the run */
};

/* The i-th gauge. -ENOENT after the last. From any thread. */
int toll_tracker_gauge(struct toll_tracker *t, size_t i, struct toll_gauge *ret);

/* Energy that GPUs and processors used during the run, by all processes of the machine. NAN: not
 * known. */
struct toll_energy {
    size_t size;
    bool has_gpus;             /* GPUs were read */
    enum toll_quality quality; /* of gpus_joules and total_joules */
    const char *quality_word;
    double gpus_joules;
    double processors_joules;
    double total_joules; /* known if both are */
};

/* Needs options.system or GPUs. From any thread. */
int toll_tracker_energy(struct toll_tracker *t, struct toll_energy *ret);

/* The summary as it would be written now in a format that has one ("text", "json"); flags as for an
 * output. The caller frees *ret with free(). From any thread. */
int toll_tracker_report(struct toll_tracker *t, const char *format, unsigned flags, char **ret,
                        struct toll_error *e);

/* What toll_tracker_next_frame returns. */
enum toll_next {
    TOLL_FRAME_READY,
    TOLL_FRAME_NONE, /* none came in time, or the last frame was taken */
};

/* Background: the latest frame; -EAGAIN before the first. From any thread. */
int toll_tracker_frame(struct toll_tracker *t, struct toll_frame **ret);

/* Background, with frames_kept and without a callback: the oldest frame that was not taken yet.
 * Waits for at most timeout_ms milliseconds; -1: without limit. Returns an enum toll_next. From any
 * thread. */
int toll_tracker_next_frame(struct toll_tracker *t, int timeout_ms, struct toll_frame **ret);

/* ---- Marks: what the program reports of itself --------------------------------------------- */

/* What a mark returns. */
enum toll_marked {
    TOLL_MARK_ACCEPTED,
    TOLL_MARK_NO_LISTENER, /* this program runs without toll: not an error, takes a microsecond */
};

/* Phases, events and the program's own figures are in the record among the samples; the summary has
 * what each phase used. A phase belongs to the process that begins it, with its descendants. Phases
 * may be nested and may overlap.
 *
 * With the tracker NULL a mark goes to the `toll run` around this program, through the socket named
 * by the variable TOLL_SOCKET; docs/marks.md has the format for other languages. A mark waits some
 * milliseconds at most. From any thread.
 *
 * Returns an enum toll_marked. -EINVAL: the name is empty, longer than 128 bytes or not UTF-8
 * without control characters, an attribute is not "key=value", all together are longer than 4000
 * bytes, or a value is not finite. -EAGAIN: lost because the listener is too slow; the next mark
 * reports how many were lost. Other errors come from the socket; only the mark is lost. */
int toll_mark_phase_begin(struct toll_tracker *t, const char *name);
int toll_mark_phase_end(struct toll_tracker *t, const char *name);
int toll_mark_gauge(struct toll_tracker *t, const char *name, double value);

/* Something that happened. attributes: "key=value", NULL-terminated; may be NULL. From any
 * thread. */
int toll_mark_event(struct toll_tracker *t, const char *name, const char *const *attributes);

enum toll_mark_kind {
    TOLL_MARK_PHASE_BEGIN,
    TOLL_MARK_PHASE_END,
    TOLL_MARK_EVENT,
    TOLL_MARK_GAUGE,
};

/* Any mark, with everything it can have. From any thread. */
struct toll_mark {
    size_t size;
    enum toll_mark_kind kind;
    pid_t pid; /* the process it belongs to; 0: this process */
    const char *name;
    const char *const *attributes;
    double value; /* of a gauge */
};
int toll_mark(struct toll_tracker *t, const struct toll_mark *mark);

/* ---- Snapshots ----------------------------------------------------------------------------- */

/* What a target has used since it started, and its current values; target NULL: the machine. The
 * caller frees the frame. options may be NULL; metrics, memory, processes, no_children, system,
 * network and gpus apply. GPUs are read only if gpus is set: a driver may take a quarter of a
 * second, after which there are no GPU rows; ten seconds if a GPU is named. The calling process
 * alone is read without opening files: with no_children, TOLL_PROCESSES_NONE, no gpus and not
 * TOLL_MEMORY_PSS. */
int toll_snapshot(struct toll_frame **ret, const struct toll_target *target,
                  const struct toll_options *options, struct toll_error *e);

/* Takes repeated snapshots of the same target for less: files stay open in between. */
struct toll_probe;

/* As for toll_snapshot; the caller frees it. */
int toll_probe_new(struct toll_probe **ret, const struct toll_target *target,
                   const struct toll_options *options, struct toll_error *e);

/* One snapshot; the caller frees the frame. -ESRCH when the target has ended, or in a fork. */
int toll_probe_read(struct toll_probe *p, struct toll_frame **ret);

/* Accepts NULL. */
void toll_probe_free(struct toll_probe *p);

/* ---- Records: runs that were measured before ----------------------------------------------- */

/* How to convert a record, a file in the format jsonl or sqlite. Zero is the default of every
 * field. */
struct toll_export {
    size_t size;
    const char *record;  /* its path; NULL: read from fd */
    const char *metrics; /* comma-separated globs; NULL: all metrics of the record */
    const struct toll_output *const *outputs; /* where to write, NULL-terminated */
    uint64_t run; /* convert only the run with this number; 0: all, in order */

    /* Called with one sentence for each irregularity that is not an error, such as a run without an
     * end. Borrowed for the call. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;

    bool show_secrets; /* as in struct toll_options */
    bool no_args;      /* keep only the program's name of commands */
    int fd;            /* borrowed, stays open; used only without a path; jsonl only */
};

/* Convert a record to other formats, as they would have been written during the run. The record may
 * still grow, or be incomplete: its summary is then made from the samples. Files are replaced when
 * everything is written; on failure they stay as they were. -EBADMSG and the number of the line or
 * run: the record is damaged. -ENOENT: no such file or run. -EINVAL: a SQLite file that toll did
 * not write. */
int toll_record_export(const struct toll_export *x, struct toll_error *e);

/* One run of a record. */
struct toll_run {
    uint64_t number;                /* from 1 in the order of the file; in SQLite the file's own */
    const char *name;               /* or "" */
    const char *id;                 /* a UUID; "" in old records */
    const char *const *command;     /* NULL-terminated; empty: attached, or the machine */
    const char *const *attached_to; /* in words, NULL-terminated; empty: not attached */
    const char *const *labels;      /* "key=value", NULL-terminated */
    const char *host;
    const char *version;        /* of the toll that measured it */
    const struct toll_end *end; /* how it ended, and how long it took */
    uint64_t start_ns;          /* since 1970 */
    uint64_t samples;
    bool cut_short;      /* the record is incomplete */
    bool may_be_running; /* with cut_short: whether it is still measured is not known here */
    const struct toll_summary *summary; /* what it used; without its end, up to the last sample */
    const char *job_id, *array_index;   /* in a batch system, or "" */
    const char *rank, *local_rank;      /* in a parallel job, or "" */
    const char *world_size;             /* number of ranks, or "" */
    const char *launch;                 /* id that the ranks of one launch share, or "" */
};

/* Call back with each run of a record, in order. The run is borrowed for the call. Values that look
 * like secrets are replaced by ***. */
int toll_record_runs(const char *path, void (*run)(void *arg, const struct toll_run *run),
                     void *arg, struct toll_error *e);

/* ---- Repeated runs ------------------------------------------------------------------------- */

/* Runs of one command, or of one with several parameters: mean, deviation, range and outliers. */
struct toll_repeats;

/* The caller frees it. */
int toll_repeats_new(struct toll_repeats **ret, struct toll_error *e);

/* Add a run, after toll_tracker_finish; the tracker is not needed afterwards. Runs of the same
 * command with the same parameters belong together. parameters: "name=value", NULL-terminated; may
 * be NULL. */
int toll_repeats_add(struct toll_repeats *r, struct toll_tracker *t, const char *const *parameters,
                     struct toll_error *e);

/* The result as "text", "markdown", "json" or "hyperfine" (the JSON of hyperfine --export-json);
 * for several commands a table, the fastest first. Of the output, format, flags and columns are
 * used; NULL: text. The caller frees *ret with free(). */
int toll_repeats_text(const struct toll_repeats *r, const struct toll_output *output, char **ret,
                      struct toll_error *e);

/* Accepts NULL. */
void toll_repeats_free(struct toll_repeats *r);

/* ---- Recommendations: what to request next time -------------------------------------------- */

/* Which runs to consider, and what to make of them. Zero is the default of every field. */
struct toll_recommend {
    size_t size;
    const char *const *records; /* records and directories with records, NULL-terminated; NULL: the
                                   current directory */
    const char *name;           /* a glob: only runs with such a name; NULL: all */
    const char *const *labels;  /* only runs with all of these: "key=value" or "key";
                                   NULL-terminated; may be NULL */
    const char *format;         /* "text", "json", or what is pasted into the settings of a tool:
                                   "sbatch", "kubernetes", "docker", "systemd", "nextflow",
                                   "snakemake", "cwl", "condor"; NULL: "text" */

    /* Called with one sentence for each file in a directory that cannot be read. Borrowed for the
     * call. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;

    unsigned flags;   /* TOLL_OUTPUT_ASCII; others have no effect */
    unsigned columns; /* width of the terminal, for text; 0: 80 */
};

/* How many CPUs, how much memory, which time and how many GPUs to request for the next run, by the
 * rules of docs/recommend.md: for each name of runs one block, from its last 20 finished runs. The
 * caller frees *ret with free(). asked may be NULL: the records of the current directory, as text.
 * -ENODATA: no run has finished, or none matches; the sentence has the reason. */
int toll_recommend(const struct toll_recommend *asked, char **ret, struct toll_error *e);

/* ---- Comparing runs ------------------------------------------------------------------------ */

/* What became of a condition. */
enum toll_judged {
    TOLL_PASSED,
    TOLL_FAILED,     /* it holds, or the figure is unknown */
    TOLL_NOT_PROVEN, /* the figure is a lower bound: it may hold. Not a failure */
};

/* A condition that has been judged. */
struct toll_judgement {
    const char *condition; /* as it was given */
    const char *sentence;  /* figure, value and limit: "memory_peak was 2.3 GiB, above the …" */
    enum toll_judged state;
};

/* What to compare. Zero is the default of every field.
 *
 * A group of runs is a record, one of its runs ("RECORD:RUN", by its number or the end of its id),
 * a directory with records, or "name=GLOB" and labels, separated by commas ("name=build,branch=x"),
 * which are looked up in `in`, or in another place: "PLACE:name=build". In a group with runs that
 * succeeded, those that failed or are incomplete are left out. */
struct toll_compare {
    size_t size;
    const char *const *groups;     /* NULL-terminated; the first is the baseline */
    const char *in;                /* a record or a directory; NULL: the current directory */
    const char *const *conditions; /* "memory_peak > 2G", "cpu_seconds > +5%": what must not hold
                                      for the mean of a group; NULL-terminated, NULL: none. A limit
                                      with a sign is relative to the baseline. docs/compare.md */
    bool curves;                   /* keep CPU and memory over time, which HTML shows */

    /* Called with one sentence for each record of a directory that cannot be read. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;
};

/* Groups of runs, compared with the first. */
struct toll_compared;

/* Read the runs, compare them, judge the conditions. -ENOENT: a group has no runs. The caller frees
 * the comparison. */
int toll_compare(struct toll_compared **ret, const struct toll_compare *asked,
                 struct toll_error *e);

/* The comparison as "text", "markdown", "json" (docs/schema) or "html". Of the output, format,
 * flags and columns are used; NULL: text. The caller frees *ret with free(). */
int toll_compared_text(const struct toll_compared *c, const struct toll_output *output, char **ret,
                       struct toll_error *e);

/* The i-th judgement: each condition for each group but the first. NULL after the last. */
const struct toll_judgement *toll_compared_judgement(const struct toll_compared *c, size_t i);

/* Accepts NULL. */
void toll_compared_free(struct toll_compared *c);

/* Conditions for runs that are measured now. */
struct toll_gate;

/* Parse the conditions and read the baseline: groups has at most one. A baseline may also be the
 * bare name of earlier runs. Make the gate before the run: then the baseline does not include
 * it. */
int toll_gate_new(struct toll_gate **ret, const struct toll_compare *asked, struct toll_error *e);

/* Add a run, after toll_tracker_finish. Several are judged by their mean. */
int toll_gate_add(struct toll_gate *g, struct toll_tracker *t);

/* Judge the conditions for the runs so far. Returns how many have failed. */
int toll_gate_judge(struct toll_gate *g);

/* Forget the runs, to judge others. Accepts NULL. */
void toll_gate_clear(struct toll_gate *g);

/* The i-th condition, once judged. NULL after the last. It lives until the next
 * toll_gate_judge. */
const struct toll_judgement *toll_gate_judgement(const struct toll_gate *g, size_t i);

/* Accepts NULL. */
void toll_gate_free(struct toll_gate *g);

/* ---- Reports ------------------------------------------------------------------------------- */

/* Which runs a report is about. Zero is the default of every field. */
struct toll_report {
    size_t size;
    const char *const *records; /* records and directories with records, NULL-terminated; NULL: the
                                   current directory */
    const char *name;           /* only runs with this name, * matches any characters; NULL: any */
    const char *const *labels;  /* only runs with all of these: "key=value", or "key" for any value;
                                   NULL-terminated; NULL: any */
    const char *run_id;         /* the run whose id ends like this; NULL: any */
    uint64_t run;               /* the run with this number in its record; 0: any */
    bool all; /* every run, not only the newest, which comes with a table of earlier ones of its
                 name */

    /* Called with one sentence for each irregularity that is not an error, such as a file in a
     * directory that cannot be read. Borrowed for the call. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;
};

/* A report of runs in records as "text", "markdown", "html", "json" (docs/schema) or "svg". Of the
 * output, format, flags and columns are used; NULL: text. Memory does not grow with the length of
 * the runs. -ENOENT: no run matches. The caller frees *ret with free(). */
int toll_report(const struct toll_report *asked, const struct toll_output *output, char **ret,
                struct toll_error *e);

/* ---- Doctor: what can be measured here ----------------------------------------------------- */

/* The result of a check. */
enum toll_check_state {
    TOLL_CHECK_OK,
    TOLL_CHECK_PARTLY,  /* something is missing; detail describes it */
    TOLL_CHECK_MISSING, /* it cannot be measured */
    TOLL_CHECK_UNKNOWN, /* it cannot be checked, for example on a recorded machine */
};

/* One check. No string is NULL. */
struct toll_check {
    const char *name;  /* one word: "energy" */
    const char *title; /* for people */
    enum toll_check_state state;
    bool essential;    /* every job needs it; other checks fail on machines without the hardware */
    const char *means; /* kernel file or call that is read */
    const char *quality; /* exact, sampled or lower bound; "" when it cannot be measured */
    const char *detail;  /* what was found; what is missing and why */
    const char *remedy;  /* the one command or permission that would help, or "" */
    bool needs_root;     /* root would not have this problem */
};

/* The i-th check: name, title and essential, without trying it. NULL after the last. */
const struct toll_check *toll_check_at(size_t i);

/* The results of all checks. */
struct toll_diagnosis;

/* Try everything that toll reads, once. It takes some milliseconds and leaves nothing open; a child
 * that ends at once is started and waited for. root NULL: this machine; otherwise a directory with
 * a recorded proc and sys. */
int toll_diagnosis_new(struct toll_diagnosis **ret, const char *root, struct toll_error *e);

/* The result of the i-th check; NULL after the last. It lives as long as the diagnosis. */
const struct toll_check *toll_diagnosis_at(const struct toll_diagnosis *d, size_t i);

/* Accepts NULL. */
void toll_diagnosis_free(struct toll_diagnosis *d);

#ifdef __cplusplus
}
#endif
#endif
