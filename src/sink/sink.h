/* SPDX-License-Identifier: MIT
 * Where figures go. A format is one file with a struct sink_kind, and one line in open.c.
 *
 * A kind only builds text in sink->text; sink.c writes it, a whole chunk at a time, so that a file
 * is always a valid prefix. A chunk that cannot be written is lost and counted, and the next one is
 * tried. A slow reader of a pipe, a terminal or a socket is not waited for: chunks wait in a
 * bounded queue, and beyond that the oldest samples are dropped.
 *
 * The chunks of a kind with deliver() or encode() go to a sender, whose thread hands them back to
 * the kind in batches. The functions that build chunks run while a sample is taken and must be
 * quick; those that deliver may take their time. The two share nothing but what they lock. */
#pragma once

#include "base/err.h"
#include "base/io/output_file.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "layout/layout.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "sink/sender.h"
#include "summary/phases.h"
#include "summary/summary.h"
#include "toll.h"

/* ==== Sink options ============================================================================ */

/* A destination is "KIND:PLACE,key=value,…" or a path whose suffix names the kind. Only kinds with
 * options are split at commas; a comma in the place or a value is doubled then. */

enum option_kind {
    OPTION_DURATION, /* held in nanoseconds */
    OPTION_SIZE,     /* held in bytes */
    OPTION_QUEUE,    /* a size with room for a sample */
    OPTION_TEXT,
    OPTION_WORD, /* one of facts.value, which are separated by | */
};

struct sink_option {
    struct toll_format_option facts;
    enum option_kind kind;
    bool repeats; /* values are joined by newlines */
};

/* A row of the table: name, how its value looks, default, help, kind. */
#define SINK_OPTION(name_, value_, fallback_, help_, kind_)                                        \
    {                                                                                              \
        {name_, value_, fallback_, help_}, kind_, false                                            \
    }

enum { SINK_OPTIONS_AT_MOST = 32 };

/* The values of the options of one sink, in the order of the table. */
struct sink_settings {
    const struct sink_option *options; /* borrowed, ends with name NULL; NULL: no options */
    struct {
        char *text; /* owned; NULL: not given, and there is no default */
        uint64_t u; /* a duration or a size; the index of a word */
        bool is_given;
    } values[SINK_OPTIONS_AT_MOST];
};

/* Splits a destination without "KIND:" into its place, which the caller frees, and its options.
 * -EINVAL and a sentence with what is accepted; kind_name is for it. */
int sink_options_read(struct sink_settings *ret, char **ret_place, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e);

/* Options alone: ",key=value,…" or "". */
int sink_options_take(struct sink_settings *ret, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e);

void sink_options_done(struct sink_settings *s);

/* Whether the text after a comma begins with "name=" of one of the options. */
bool sink_options_begin_at(const struct sink_option *options, const char *text);

/* By name; 0 or NULL for an option that the kind does not have. */
uint64_t sink_options_u64(const struct sink_settings *s, const char *name);
const char *sink_options_text(const struct sink_settings *s, const char *name);
bool sink_options_has(const struct sink_settings *s, const char *name); /* it was given */

/* ==== Sink ==================================================================================== */

struct sink;
struct spool;
struct spool_file;
struct spool_op;

struct sink_kind {
    struct toll_format format;
    const char *other_suffixes[3]; /* NULL-terminated */
    bool holds_one_run;            /* a file with two runs would be invalid */
    bool writes_at_end;            /* samples are collected, nothing is written before the end */
    /* All are optional and add to sink->text. */
    void (*begin)(struct sink *s, const struct run *run);
    void (*heading)(struct sink *s, const struct frame *f); /* once, before the first frame */
    void (*frame)(struct sink *s, const struct frame *f);
    void (*process_end)(struct sink *s, const struct process_end *e);
    void (*mark)(struct sink *s, const struct run_mark *m);
    void (*note)(struct sink *s, uint64_t elapsed_ns, const char *sentence);
    void (*summary)(struct sink *s, const struct summary *summary);
    /* Without a sender: corrects *ret by what only the kind knows. */
    void (*outcome)(struct sink *s, struct output_summary *ret);
    void (*close)(struct sink *s); /* free sink->state */

    const struct sink_option *options; /* ends with name NULL; NULL: no options */
    bool has_layouts;                  /* it reads sink->layout itself */
    bool has_no_bytes;                 /* the number of bytes written is unknown */

    /* Instead of opening a file: checks sink->place and makes sink->state, before anything runs. It
     * may set sink->fd and owns_fd, sink->name, and sink->plan; without plan.deliver there is no
     * sender. */
    int (*open)(struct sink *s, struct toll_error *e);
    /* Variables for a command that is about to start, "NAME=value", NULL-terminated, borrowed from
     * the sink. May take as long as the sink's own limits allow. */
    const char *const *(*environment)(struct sink *s);

    /* In the sender's thread, which may outlive the run: sink->run must not be used. sink->sender
     * knows whether time is up. */
    enum delivery (*deliver)(struct sink *s, const struct batch *b, struct attempt *a);

    /* ---- Instead of deliver(), for a kind with a spool (spool.h); in the same thread ---- */

    /* Adds the batch as operations, without the number of its samples. False: no memory. */
    bool (*encode)(struct sink *s, const struct batch *b, struct buf *ops);
    /* Does one operation. *done is how much of it an earlier attempt did, in units of the kind;
     * what is done now is added when it stops in the middle. DELIVERY_KEPT: no retry helps, but
     * other credentials or another URL may. */
    enum delivery (*send)(struct sink *s, const struct spool_op *op, uint64_t *done,
                          struct attempt *a);
    /* More operations for the beginning of a file; or NULL. */
    void (*add_spool_head)(struct sink *s, struct buf *head);
    /* After something was written to the file, or sent from it; or NULL. */
    void (*after_spool)(struct sink *s);
    /* Before toll resend, in a sink that has not begun: reads from the file what else is needed; or
     * NULL. is_elsewhere: the destination is not that of the file. */
    int (*take_spool)(struct sink *s, const struct spool_file *file, bool is_elsewhere,
                      struct toll_error *e);
    /* Where toll resend sent it; or NULL. */
    void (*name_run)(struct sink *s, char *ret, size_t capacity);
};

/* Options of every kind with a sender, first in its table. */
#define SINK_SENDER_OPTIONS(gather_, grace_)                                                       \
    SINK_OPTION("every", "TIME", gather_, "time between sends", OPTION_DURATION),                  \
        SINK_OPTION("grace", "TIME", grace_, "longest wait at the end for samples not sent yet",   \
                    OPTION_DURATION),                                                              \
        SINK_OPTION("queue", "SIZE", "16MiB",                                                      \
                    "size of the queue; when full, the oldest samples are dropped", OPTION_QUEUE)

/* An option of kinds whose series have labels. */
#define SINK_ID_OPTION                                                                             \
    SINK_OPTION("id", "no|yes", "yes",                                                             \
                "add the ID of the run as a label, to distinguish runs of the same name",          \
                OPTION_WORD)

struct sink {
    const struct sink_kind *kind;
    char *name;  /* owned: the path, or a name for messages; without secrets */
    char *place; /* owned: the destination without kind and options; NULL: a descriptor */
    struct sink_settings settings;
    struct sender *sender;   /* owned; NULL: none, or not begun */
    struct sender_plan plan; /* of the sender */
    struct spool *spool;     /* owned; NULL: the kind has none */
    uint64_t grace_ns;
    char notice[160]; /* from begin() on: a message for the user, or "" */
    pid_t thread;     /* of a kind with a thread instead of a sender; 0: none */
    int fd;
    bool owns_fd;
    bool made_file;      /* the file did not exist before */
    bool may_stay_empty; /* an empty file is removed at the end */
    bool stays_open;     /* a summary alone is written to fd, not to the file opened again */
    enum output_way way; /* a file, unless the kind sets it */
    unsigned flags;      /* TOLL_OUTPUT_… */
    unsigned columns;    /* of the terminal; 0: not one */
    struct selection selection;
    struct layout_choice *layout; /* owned; NULL: toll's own columns */
    const struct run *run;        /* borrowed, from the beginning on */
    void *state;                  /* of the kind, NULL at first */
    bool has_heading;
    bool follows; /* after another run in the same file */
    struct buf text;
    unsigned folded;   /* number of samples in the text of a frame, when not 1; reset */
    struct stream out; /* over fd, once it was written to */
    bool has_stream;
    bool is_patient;       /* waits for slow readers without a limit */
    bool is_cut;           /* a chunk was given up in the middle: nothing can follow it */
    struct buf rest;       /* of a chunk that a slow reader took only in part */
    unsigned rest_samples; /* of that chunk */
    struct queue waiting;  /* chunks after it; not initialised until there are any */
    bool is_failure_noted;
    uint64_t chunks;        /* written */
    uint64_t dropped;       /* chunks that could not be written */
    int failure;            /* the last one, negative errno, or 0 */
    uint64_t samples;       /* frames that were handed to it */
    uint64_t missing;       /* frames that could not be written */
    _Atomic uint64_t bytes; /* written or sent; a sender's thread adds to it too */
};

/* All formats, NULL-terminated, and each by its name. */
extern const struct sink_kind *const sink_kinds[];
extern const struct sink_kind sink_csv, sink_html, sink_hyperfine, sink_jobstats, sink_json,
    sink_jsonl, sink_junit, sink_lines, sink_markdown, sink_mlflow, sink_openmetrics, sink_otlp,
    sink_prometheus, sink_pushgateway, sink_sqlite, sink_status, sink_sub_tracking, sink_svg,
    sink_text;

/* The kind that writes a format in a layout, or -EINVAL and a sentence. */
int sink_choose_layout(const struct sink_kind *kind, const struct layout_choice *choice,
                       const struct sink_kind **ret, struct toll_error *e);

/* The kind of a format's name, or of a destination when the name is NULL: by its prefix "KIND:", or
 * by the suffix of a path. *ret_rest is the destination without the prefix. -EINVAL and a sentence
 * with what is accepted. */
int sink_choose(const char *format, const char *destination, const struct sink_kind **ret,
                const char **ret_rest, struct toll_error *e);

/* Where the options of a kind begin in a path that ends with its suffix: "run.om,every=5s"; a path
 * may have commas itself. NULL: the path has no suffix of the kind. */
const char *sink_options_start(const struct sink_kind *kind, const char *path);

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e);

/* For open() of a kind: opens the file as for other kinds. */
int sink_open_file(struct sink *s, const char *path, struct toll_error *e);

/* Whether the path is the file it writes to. */
bool sink_writes_to(const struct sink *s, const char *path);

/* For a caller that has time, before the beginning: from now on the sink waits for room instead of
 * dropping samples, unless the sender makes no progress in that time (-ETIMEDOUT). The reader of a
 * pipe is waited for without a limit. */
void sink_wait_for_room(struct sink *s, uint64_t no_progress_ns);

/* With sink_wait_for_room: waits until the sender's queue is empty. */
void sink_flush(struct sink *s);

/* Accepts NULL. discard: remove a file that sink_open has made. */
void sink_close(struct sink *s, bool discard);

/* In a layout whose files differ by name, chooses the table by the name of the file. Such a file is
 * removed when it stays empty. */
void sink_take_file(struct sink *s, const char *path);

/* Each writes one chunk: 0, or -errno. */
int sink_begin(struct sink *s, const struct run *run);
int sink_frame(struct sink *s, const struct frame *f);
int sink_process_end(struct sink *s, const struct process_end *e);
int sink_mark(struct sink *s, const struct run_mark *m);
int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence);
int sink_summary(struct sink *s, const struct summary *summary);

/* Whether chunks wait for a slow reader. */
bool sink_has_waiting(const struct sink *s);

/* Writes what the reader accepts within that time. False: nothing. */
bool sink_write_waiting(struct sink *s, int timeout_ms);

/* Drops the waiting chunks, and counts them. */
void sink_drop_waiting(struct sink *s);

/* Why the last chunk could not be written. */
const char *sink_failure(const struct sink *s);

/* For a sink with a sender. sink_end: no more chunks come, the grace period begins. sink_wait:
 * waits for the end of it, and fills *ret; 0, or -EIO when something was lost. */
void sink_end(struct sink *s);
int sink_wait(struct sink *s, struct output_summary *ret);

/* For a sink without a sender: what was written so far. False: it has a summary only. */
bool sink_outcome(struct sink *s, struct output_summary *ret);

/* A message of the sender for the user, once. */
bool sink_take_report(struct sink *s, char *ret, size_t capacity);

/* The sender's thread, or 0. */
pid_t sink_thread(const struct sink *s);

/* -EINVAL and a sentence when the layout has no table for a target, or for the machine alone. */
int sink_check_subject(const struct sink *s, bool has_target, struct toll_error *e);

/* Whether the layout has figures of the machine beside those of a target. */
bool sink_needs_system(const struct sink *s);

/* Whether the layout has PSS or USS in every row. */
bool sink_needs_rollup(const struct sink *s);

/* Whether a second run would make the file invalid. */
bool sink_holds_one_run(const struct sink *s);

/* Adds the summary to *out as such an output would write it. -EINVAL and a sentence when the format
 * has no summary. */
int sink_report(struct buf *out, const struct toll_output *like, const struct selection *selection,
                const struct summary *summary, struct toll_error *e);

/* ==== Run end ================================================================================= */

/* How a run ended, as figures: toll_run_exit_code and others. */

struct run_end {
    uint64_t time_ms; /* since 1970; 0: it has not ended, or its record was cut */
    bool has_status, is_signal;
    int status;
};

void run_end_take(struct run_end *ret, const struct summary *s);

/* A figure: number / 10^decimals. */
struct run_fact {
    const char *name; /* without toll_run_ */
    const char *help;
    uint64_t number;
    unsigned decimals;
};

enum { RUN_FACTS_AT_MOST = 2 };

/* Returns their number; 0 before the end. */
size_t run_end_facts(const struct run_end *e, struct run_fact ret[RUN_FACTS_AT_MOST]);

double run_fact_value(const struct run_fact *f);

/* ==== SQLite ================================================================================== */

/* One SQLite file that is written: made before anything runs, then opened again by the thread that
 * writes to it. Several programs may write to the same file at once; each batch is a transaction.
 */

/* Makes the file, or makes sure that it is one of toll's, and that it can be written to: a file of
 * somebody else is not touched. *ret_made: it was not there. */
int sqlite_file_prepare(const char *path, bool *ret_made, struct toll_error *e);

/* Removes a file that was made for a run that never began, unless there are others' runs in it. */
void sqlite_file_discard(const char *path);

struct sqlite_file;

/* e is never NULL below, and what it says does not name the file. is_apart: the calling thread has
 * descriptors of its own. */
int sqlite_file_open(struct sqlite_file **ret, const char *path, bool is_apart,
                     struct toll_error *e);

/* Accepts NULL. */
void sqlite_file_close(struct sqlite_file *f);

/* All of it or nothing. The run has to be in the first batch. */
int sqlite_file_write(struct sqlite_file *f, const struct batch *b, struct toll_error *e);
