/* SPDX-License-Identifier: MIT
 * What a run came to: statistics of every series, how each figure was obtained, how the command
 * ended, what was not as it should be. Fixed in size, whatever the length of the run. */
#pragma once

#include "base/clock.h"
#include "base/memory.h"
#include "base/rank.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/energy.h"
#include "summary/phases.h"
#include "summary/series.h"
#include "toll.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ==== Largest processes ======================================================================= */

/* The processes that used most, and what the programs of a run used together: a table in fixed
 * memory, however many processes lived. */

enum { LARGEST_KEPT = 16, LARGEST_PROGRAMS = 256, LARGEST_COMMAND_BYTES = 256 };

/* One process as it was last seen. */
struct largest_process {
    pid_t pid;
    uint64_t start; /* in ticks of the kernel: with the pid it names one process */
    char name[ENTITY_NAME_BYTES];
    char command[LARGEST_COMMAND_BYTES]; /* secrets masked, cut to fit; "": not read */
    uint64_t cpu_ns;                     /* its own, without children that it reaped */
    uint64_t peak_bytes;                 /* the kernel's high-water mark of its resident memory */
    uint64_t socket_bytes;               /* that its calls sent and received */
    bool has_cpu, has_peak, has_sockets;
    bool is_complete; /* read at its end: otherwise its CPU time is a lower bound, as its peak
                       * always is */
    bool is_recorded; /* the kernel recorded its end: its peak is no lower bound either */
    uint64_t count;   /* of processes that are one line; 0: one */
};

/* All processes with one name. */
struct largest_program {
    char name[ENTITY_NAME_BYTES];
    uint64_t count;
    uint64_t cpu_ns;
    uint64_t peak_bytes; /* of the largest of them; 0: not read */
    bool is_complete;    /* so is every process of it: cpu_ns is no lower bound */
    bool is_recorded;    /* so is every process of it: nor is the peak */
};

/* Zeroed is empty. A process is in both lists when it is among the largest of both. */
struct largest {
    struct largest_process by_memory[LARGEST_KEPT]; /* largest first */
    struct largest_process by_cpu[LARGEST_KEPT];
    unsigned by_memory_count, by_cpu_count;
    struct largest_program programs[LARGEST_PROGRAMS]; /* in the order they were first met */
    unsigned program_count;
    uint64_t unlisted; /* processes of programs beyond these */
    uint64_t count;    /* of all processes that were added */
};

/* A process has ended, or is left at the end of the run. Each is added once. */
void largest_add(struct largest *l, const struct largest_process *p);

/* The same for the lists of processes alone, of a record that has the programs beside them. */
void largest_list(struct largest *l, const struct largest_process *p);

/* The programs in the order of their CPU time, into an array of LARGEST_PROGRAMS. Returns how many
 * there are. */
unsigned largest_programs_by_cpu(const struct largest *l, const struct largest_program **sorted);

/* ==== Curve =================================================================================== */

/* The shape of one figure over the whole run in a few dozen points, for a line of text. */

enum { CURVE_POINTS = 64 };

/* Points of equal width in time. When the run outgrows them, neighbours are merged and the width
 * doubles, so that memory stays fixed and a peak is never lost. Zeroed is empty. */
struct curve {
    uint64_t width_ns; /* of one point; 0: empty */
    uint64_t end_ns;   /* how far it was filled, since the start of the run */
    struct {
        double sum; /* value times seconds */
        double max;
        uint64_t covered_ns; /* time with a known value */
    } points[CURVE_POINTS];
};

/* The value from from_ns until until_ns, both since the start of the run; NAN leaves a gap. */
void curve_add(struct curve *c, double value, uint64_t from_ns, uint64_t until_ns);

/* The curve in at most `count` columns: the mean of each, or the largest value. A column without a
 * value is NAN. Returns the number of columns, fewer when the curve has fewer points. */
unsigned curve_columns(const struct curve *c, unsigned count, bool largest, double *columns);

/* ==== Run facts =============================================================================== */

/* The facts of a run that do not change while it goes. */

/* One of the targets a run was attached to. */
struct run_target {
    char *name;  /* owned */
    char *what;  /* owned: "process 1234 (make) and its descendants" */
    pid_t pid;   /* of its main process, 0: there is none */
    pid_t group; /* the process group that it is, or its main process is in; 0: not known */
};

struct run {
    char id[UUID_BYTES];      /* its own; "": of a record from before runs had one */
    struct batch_job job;     /* the batch job that it is a part of */
    struct parallel parallel; /* its place in a parallel job */
    char *name;               /* owned */
    char *version;            /* owned, of the toll that measured; NULL: this one */
    char *metrics;            /* owned globs: only these were asked for; NULL: all */
    char **command;           /* owned, NULL-terminated; NULL when there is none */
    char **labels;            /* owned "key=value", NULL-terminated; or NULL */
    char host[65];
    char kernel[65];
    unsigned cpus;              /* that may be used */
    unsigned online_cpus;       /* that the machine has; 0: not known */
    pid_t own_pid;              /* of the toll that measured; 0: not known */
    pid_t pid;                  /* of the main process, 0: there is none */
    uid_t uid;                  /* owner of the main process */
    bool has_uid;               /* uid is known: /proc shows it, a record does not */
    pid_t group;                /* of the main process, or the target itself; 0: not known */
    struct run_target *targets; /* owned; what was attached to, none for a command */
    size_t target_count;
    bool shows_secrets; /* its texts are kept as they are */
    bool no_args;       /* of its command only the name of the program is kept */
    bool since_start;   /* counters count from the birth of the processes and of the machine */
    bool system;        /* the machine is measured too */
    bool network;       /* the network of the target is measured too */
    bool gpus;          /* GPUs are read, whether or not they have answered yet */
    bool gpus_awaited;  /* some GPUs may be missing: a driver has not begun yet */
    bool gpus_unread;   /* there are GPUs, but they were not asked for */
    unsigned gpu_count; /* that the machine has, chosen or not, as far as they have answered */
    bool gpus_unlisted; /* of a record without the key: GPUs may have been read */
    uint64_t start_real_ns;
    uint64_t interval_ns; /* 0 = auto */
    bool no_children;
};

/* Copies, in which what looks like a secret is masked unless shows_secrets is set
 * (base/text/secrets.h): no other part of the program sees it. 0 or -ENOMEM. */
int run_set_name(struct run *r, const char *name);
int run_set_command(struct run *r, char *const argv[]);
int run_set_labels(struct run *r, const char *const labels[]);

/* The same for words that are there already, of a record. 0 or -ENOMEM. */
int run_mask_secrets(struct run *r);

/* Whether the user gave it a name other than the command's. */
bool run_is_named(const struct run *r);

int run_add_target(struct run *r, const char *name, const char *what);

/* Forgets the command and the targets, and the name unless it was given. */
void run_forget(struct run *r, bool name_is_given);

void run_done(struct run *r);

/* ==== Summary ================================================================================= */

enum { SUMMARY_NOTES = 16, SUMMARY_STILL_RUNNING = 10 };

/* A member that is left when the command has ended. */
struct survivor {
    pid_t pid;
    char name[ENTITY_NAME_BYTES];
    uint64_t cpu_ns;
    uint64_t rss_bytes;
    bool has_rss; /* false: its files are hidden, or gone */
};

/* What one target came to. */
struct target_summary {
    struct series series[PARTS][PROCESS_METRICS];
    struct provenance provenance[PARTS][PROCESS_METRICS];
    bool has_parts;       /* a main process and its descendants */
    struct limits limits; /* what it may use */
    struct toll_end end;
    uint64_t denied[PARTS];  /* bits of gauges that lacked a process which could not be read at some
                              * time, and of counters that lack one by now */
    uint64_t partial[PARTS]; /* bits of the figures that are lower bounds because of that */
};

/* What one instance of the machine came to. */
struct instance_summary {
    const struct instance *instance; /* borrowed */
    struct series *series;           /* owned, one for each metric of the entity */
};

/* How samples get to an output. */
enum output_way {
    OUTPUT_FILE,
    OUTPUT_STREAM, /* a descriptor of the program's */
    OUTPUT_SENT,
    OUTPUT_SCRAPED, /* others come for the newest */
    OUTPUT_WAYS,
};

struct output_summary {
    char name[200];     /* where it went */
    const char *format; /* lives as long as the program */
    enum output_way way;
    uint64_t samples; /* that were to go there */
    uint64_t delivered;
    uint64_t kept;    /* in the spool, to be sent later */
    uint64_t dropped; /* refused by the other side, or there was no room or no time left */
    uint64_t retries; /* attempts that were repeated */
    uint64_t bytes;   /* of what was delivered, when has_bytes */
    uint64_t scrapes; /* requests */
    bool has_bytes;
    bool is_whole;    /* nothing was lost, samples or anything else */
    bool has_kept;    /* the last of it went to the spool */
    bool has_nothing; /* of a sender: nothing at all has arrived */
    char why[256];    /* the last failure, or "" */
};

struct energy;

struct summary {
    const struct run *run; /* borrowed */
    uint64_t elapsed_ns;
    bool has_target;                /* otherwise only the machine was measured */
    struct target_summary whole;    /* all targets together */
    struct target_summary *targets; /* owned; each of several, as named in run */
    size_t target_count;            /* 0 when there is but one */
    struct series self[SELF_METRICS];
    struct instance_summary *instances; /* owned, by their numbers */
    size_t instance_count;
    struct curve cores_curve;  /* of the target as a whole, or of the machine when it is alone */
    struct curve memory_curve; /* resident memory of it */
    struct largest *largest;   /* owned, NULL: no process has ended yet */
    struct mark_totals marks;
    struct survivor survivors[SUMMARY_STILL_RUNNING];
    size_t survivor_count;          /* may exceed what the array holds */
    char *notes[SUMMARY_NOTES];     /* owned sentences */
    size_t note_count;              /* may exceed what the array holds */
    struct output_summary *outputs; /* owned */
    size_t output_count;
    struct histogram *histograms; /* owned */
    struct octave_store octaves;  /* of all of them */
    struct job_energy job_energy;
    const struct energy *energy; /* borrowed: as it was recorded; NULL: from the instances */
};

int summary_init(struct summary *s, const struct run *run);

/* Room for each of several targets. 0 or -ENOMEM. */
int summary_add_targets(struct summary *s, size_t count);
void summary_done(struct summary *s);

void summary_frame(struct summary *s, const struct frame *f);

/* The curves, of a frame as outputs have it: then a record has the same. */
void summary_curves(struct summary *s, const struct frame *f);

/* A process has ended, or is still there at the end of the run: end NULL. */
void summary_process(struct summary *s, const struct process *p, const struct process_end *end);

/* Keep a sentence once. True when it is new and there was room. */
bool summary_note(struct summary *s, const char *sentence);

/* Where the distribution of a figure of the machine as a whole is kept, by its number. */
struct histogram *summary_system_histogram(const struct summary *s, unsigned i);

/* The run is over. */
void summary_end(struct summary *s, uint64_t elapsed_ns);

/* How a figure of the machine was obtained: counters are the kernel's own, and exact unless their
 * source was silent for a part of the run. */
enum quality summary_instance_quality(const struct series *s, const struct metric *m);

/* The rows of threads, most CPU time first, in an array that the caller frees; NULL without memory.
 */
const struct instance_summary **summary_threads(const struct summary *s, size_t *ret_count);

/* The peak of the resident memory of all processes together, as far as it is known. */
struct memory_peak {
    double bytes;
    enum quality quality;
    bool is_of_largest; /* the kernel's mark of the largest process, which samples did not reach */
    const char *why;    /* it is unknown or a lower bound; NULL: nothing to explain */
};

/* A command that ran shorter has seldom been sampled after it had its memory. */
#define SUMMARY_SHORTEST_FOR_MEMORY_NS (50 * NS_PER_MS)

/* By how much the kernel's mark of the largest process is above the highest sample where samples
 * missed the peak. */
#define SUMMARY_NOTICEABLE 1.02

/* The peak is sampled. The kernel's own mark of the largest process is not, so the figure is never
 * below it. Where it is more than any sample had, samples missed the peak. selected: bits of the
 * metrics that count, others are unknown. */
struct memory_peak summary_memory_peak(const struct summary *s, uint64_t selected);

/* ==== Energy ================================================================================== */

/* The energy of a run: what its GPUs and the processors of the machine used while it lasted, for
 * any process. */

struct energy {
    bool has_gpus; /* GPUs were read */
    bool knows_gpus, knows_processors;
    enum quality gpus_quality; /* of gpus_joules, and so of the sum */
    double gpus_joules, processors_joules;
};

/* One GPU without a counter, or one whose driver has not begun, makes the sum unknown; one whose
 * counter was not read from the beginning to the end of the run makes it a lower bound. */
struct energy energy_of(const struct summary *s);
