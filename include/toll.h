/* SPDX-License-Identifier: MIT
 *
 * libtoll tells what a job cost: CPU, memory, storage, network, as exactly as the kernel can account
 * it; of a command it starts, of processes that run already, of the machine.
 *
 * The life of a tracker that starts a command:
 *
 *     struct toll_tracker *t;
 *     struct toll_error e;
 *     struct toll_options o = {.size = sizeof o};
 *     struct toll_output out = {.size = sizeof out, .destination = "run.jsonl"};
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
 * of the launch.
 *
 * The library prints nothing, handles no signals, starts no threads and never ends the program.
 * Calls return 0 (or what they say) or a negative errno; those that set something up put one
 * sentence fit for a user into a struct toll_error, which may be NULL. A tracker is used from one
 * thread at a time; different trackers are independent.
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

#define TOLL_VERSION "0.1.0"

/* The version of the library in use, which need not be that of this header. */
const char *toll_version(void);

struct toll_error {
    int code;          /* negative errno */
    char message[512]; /* one sentence, no newline */
};

/* ---- What can be measured ---------------------------------------------------------------- */

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

enum toll_wait {
    TOLL_WAIT_MAIN, /* the target has ended when the command has */
    TOLL_WAIT_ALL,  /* … when its last descendant has */
};

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

    /* Called with one sentence when something cannot be measured or written, once for each;
     * the summary repeats them. It must not call the tracker. */
    void (*note)(void *arg, const char *sentence);
    void *note_arg;
};

/* ---- Outputs ------------------------------------------------------------------------------- */

enum {
    TOLL_OUTPUT_COLOR = 1 << 0,   /* escape sequences, for a terminal */
    TOLL_OUTPUT_VERBOSE = 1 << 1, /* everything, not only what matters */
};

struct toll_output {
    size_t size;
    const char *destination; /* a path whose suffix tells the format; NULL: write to fd */
    int fd;                  /* borrowed, stays open; only without a destination */
    const char *format;      /* csv, jsonl, json or text; NULL: from the suffix */
    unsigned flags;
};

/* One format that can be written. */
struct toll_format {
    const char *name;
    const char *suffix; /* ".csv" */
    const char *help;
};

/* The i-th format, or NULL behind the last. */
const struct toll_format *toll_format_at(size_t i);

/* ---- A tracker ------------------------------------------------------------------------------ */

struct toll_tracker;

int toll_tracker_new(struct toll_tracker **ret, const struct toll_options *options,
                     struct toll_error *e);

/* Accepts NULL. Outputs are closed; a command that still runs goes on. */
void toll_tracker_free(struct toll_tracker *t);

/* Files are opened at once, so that a bad path, or one that another tracker writes to (-EBUSY), is
 * known before anything runs; a file made for a command that then could not be started is removed.
 * A summary is written at the end; a pipe that is not read never blocks, it loses what does not
 * fit. */
int toll_tracker_add_output(struct toll_tracker *t, const struct toll_output *output,
                            struct toll_error *e);

/* ---- A command ------------------------------------------------------------------------------ */

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

/* ---- What runs already ---------------------------------------------------------------------- */

enum toll_target_kind {
    TOLL_TARGET_PROCESS, /* id: a process with its descendants */
    TOLL_TARGET_GROUP,   /* id: all processes of a process group */
    TOLL_TARGET_SESSION, /* id: … of a session */
    TOLL_TARGET_CGROUP,  /* text: … of a cgroup and those below it */
    TOLL_TARGET_MATCH,   /* text: processes whose command line an extended regular expression
                            matches, with their descendants */
    TOLL_TARGET_USER,    /* text: … of a user, by name or number */
};

struct toll_target {
    size_t size;
    enum toll_target_kind kind;
    const char *name; /* of its series; NULL: one is made of kind and id */
    pid_t id;
    const char *text;
};

/* One more target to attach to, up to 63. Several targets are several series, and all of them
 * together one more in which nobody counts twice. -ESRCH when there is no such process. */
int toll_tracker_add_target(struct toll_tracker *t, const struct toll_target *target,
                            struct toll_error *e);

/* Begin to measure the targets, the machine (options.system), or both. Nothing is done to the
 * processes; the tracker's own process never counts. What they used before counts only with
 * options.since_start. toll_tracker_step returns 0 when all targets have ended. Each process keeps a
 * few descriptors, as far as the limit of open files allows, which stays as it is. */
int toll_tracker_attach(struct toll_tracker *t, struct toll_error *e);

/* Measure a recorded run instead (see docs/testing.md): for tests and for bug reports. */
int toll_tracker_replay(struct toll_tracker *t, const char *directory, struct toll_error *e);

/* The pid of the command; 0 before the launch and after it was reaped. */
pid_t toll_tracker_pid(const struct toll_tracker *t);

/* Whether a process is the command or one of its descendants, asked of the kernel now. */
bool toll_tracker_contains(struct toll_tracker *t, pid_t pid);

/* Readable when toll_tracker_step has something to do. Children that end are also told by
 * SIGCHLD: a caller who gets one should step. */
int toll_tracker_fd(const struct toll_tracker *t);

/* Do what is due. 1: the target runs, 0: it has ended, negative: an error of the tracker. */
int toll_tracker_step(struct toll_tracker *t);

/* How the command ended. */
struct toll_end {
    bool ended;    /* false: it still runs */
    bool signaled; /* ended by a signal */
    bool core_dumped;
    bool unknown;    /* ended, but somebody else waited for it: it is not known how */
    bool oom_killed; /* the kernel says that it killed it for want of memory */
    bool timed_out;  /* options.timeout_ns was over */
    int status;   /* exit code, or the signal's number */
};

/* Take the last sample, settle the totals, hand the summary to every output and close them.
 * The first failure of an output is returned, after all were tried. */
int toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end);

/* ---- What can be measured here -------------------------------------------------------------- */

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
