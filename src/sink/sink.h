/* SPDX-License-Identifier: MIT
 * Where figures go. A format is one file with a struct sink_kind, and one line in sinks.c.
 *
 * A kind only builds text in sink->text; writing is done here, a whole piece at a time, so that
 * what stands in a file is always a valid prefix of it. A sink that cannot write loses that piece,
 * counts it, and tries again with the next. A slow reader of a pipe, a terminal or a socket is not
 * waited for: pieces wait for it in a bounded queue, and beyond that the oldest samples go.
 *
 * A kind with deliver() writes to no file of ours: its pieces go to a sender, whose thread hands
 * them to it in batches. What builds pieces then runs while a sample is taken and has to be quick;
 * what delivers them may take its time. The two share nothing but what they lock. */
#pragma once

#include "base/io/output_file.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "layout/layout.h"
#include "metric/frame.h"
#include "metric/mark.h"
#include "metric/metric.h"
#include "sink/sender.h"
#include "summary/phases.h"
#include "summary/summary.h"
#include "toll.h"

/* ==== Sink options ============================================================================ */

/* Where to and how: "KIND:PLACE,key=value,…" or a path whose suffix tells the kind. Only kinds that
 * have options are split at commas; there a comma that is meant is written twice. */

enum option_kind {
    OPTION_DURATION, /* held in nanoseconds */
    OPTION_SIZE,     /* held in bytes */
    OPTION_QUEUE,    /* the same, with room for a sample */
    OPTION_NUMBER,
    OPTION_TEXT,
    OPTION_WORD, /* one of those of facts.value, which have | between */
};

/* One thing that can be said to a kind of sink. */
struct sink_option {
    struct toll_format_option facts;
    enum option_kind kind;
    bool repeats; /* each one is added, with a newline between */
};

enum { SINK_OPTIONS_AT_MOST = 32 };

/* What was said to one sink, by the numbers of its options. */
struct sink_settings {
    const struct sink_option *options; /* borrowed, name NULL behind the last; NULL: it has none */
    struct {
        char *text; /* owned; NULL: not given, and there is no default */
        uint64_t u; /* of a duration or a size, and which of the words */
        double d;   /* of a number */
        bool is_given;
    } values[SINK_OPTIONS_AT_MOST];
};

/* Text of a destination behind "KIND:" to its place and its options. *ret_place is the caller's to
 * free. -EINVAL and a sentence with what is accepted; kind_name is for it. */
int sink_options_read(struct sink_settings *ret, char **ret_place, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e);

/* The same where the place is known already: ",key=value,…" or "" alone. */
int sink_options_take(struct sink_settings *ret, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e);

void sink_options_done(struct sink_settings *s);

/* Whether what stands here, behind a comma, begins with "name=" of one of the options. */
bool sink_options_begin_at(const struct sink_option *options, const char *text);

/* By name; one that the kind does not have is 0 or NULL. */
uint64_t sink_options_u64(const struct sink_settings *s, const char *name);
double sink_options_double(const struct sink_settings *s, const char *name);
const char *sink_options_text(const struct sink_settings *s, const char *name);
bool sink_options_has(const struct sink_settings *s, const char *name); /* it was given */

/* ==== Sink ==================================================================================== */

struct sink;
struct spool;
struct spooler;

struct sink_kind {
    struct toll_format format;
    const char *other_suffixes[3]; /* that mean it too, NULL behind the last */
    bool holds_one_run;            /* two would be no file of its format any more */
    /* All optional, all add to sink->text. */
    void (*begin)(struct sink *s, const struct run *run);
    void (*heading)(struct sink *s, const struct frame *f); /* once, before the first frame */
    void (*frame)(struct sink *s, const struct frame *f);
    void (*process_end)(struct sink *s, const struct process_end *e);
    void (*mark)(struct sink *s, const struct told_mark *m);
    void (*note)(struct sink *s, uint64_t elapsed_ns, const char *sentence);
    void (*summary)(struct sink *s, const struct summary *summary);
    /* What only the kind knows of what became of it: changes ret. Without a sender. */
    void (*outcome)(struct sink *s, struct output_summary *ret);
    void (*close)(struct sink *s); /* free sink->state */

    const struct sink_option *options; /* name NULL behind the last; NULL: it has none */
    bool has_layouts;                  /* it reads sink->layout itself */
    bool has_no_bytes;                 /* nobody can say how many a sample takes */

    /* In the place of opening a file: checks sink->place and makes sink->state, before anything
     * runs. It may set sink->fd and owns_fd, sink->name, and sink->plan; without plan.deliver there
     * is no sender. */
    int (*open)(struct sink *s, struct toll_error *e);
    /* Variables for a command that is about to start, "NAME=value", NULL behind the last; borrowed
     * from the sink. May take as long as the sink's own limits allow. */
    const char *const *(*environment)(struct sink *s);

    /* Of a kind that puts aside what it cannot send (spooler.h), for toll send; the sink has not
     * begun. take_spool, or NULL: reads from the file what else it has to know; is_elsewhere: it is
     * not for the destination that it was written for. name_run, or NULL: where it went. */
    struct spooler *(*spooler)(struct sink *s);
    int (*take_spool)(struct sink *s, const struct spool *spool, bool is_elsewhere,
                      struct toll_error *e);
    void (*name_run)(struct sink *s, char *ret, size_t capacity);

    /* Both in the sender's thread, see sender.h. sink->sender tells whether time is up. A thread
     * that was left behind outlives the run: sink->run is not for them. */
    enum delivery (*deliver)(struct sink *s, const struct batch *b, struct attempt *a);
    enum delivery (*leave)(struct sink *s, const struct batch *b, struct attempt *a);
};

/* What every kind with deliver() understands; first in its table of options. */
#define SINK_SENDER_OPTIONS(gather_)                                                               \
    {{"every", "TIME", gather_, "how often what was sampled is sent"}, OPTION_DURATION, false},    \
        {{"grace", "TIME", "5s", "how long toll waits at the end for what is left to be sent"},    \
         OPTION_DURATION,                                                                          \
         false},                                                                                   \
    {                                                                                              \
        {"queue", "SIZE", "16MiB", "how much may wait; beyond it the oldest samples are dropped"}, \
            OPTION_QUEUE, false                                                                    \
    }

/* … and those whose series have labels. */
#define SINK_ID_OPTION                                                                             \
    {                                                                                              \
        {"id", "no|yes", "yes",                                                                    \
         "a label with the id of the run, so that runs of one name stay apart"},                   \
            OPTION_WORD, false                                                                     \
    }

struct sink {
    const struct sink_kind *kind;
    char *name;  /* owned: the path, or what it is called in a sentence; has no secret */
    char *place; /* owned: where to, without kind and options; NULL: a descriptor */
    struct sink_settings settings;
    struct sender *sender;   /* owned, NULL: the kind has none, or it is not begun */
    struct sender_plan plan; /* of the sender */
    uint64_t grace_ns;
    char notice[160]; /* from begin() on: what the user should know of it, or "" */
    pid_t thread;     /* of the kind's own in the place of a sender, 0: none */
    int fd;
    bool owns_fd;
    bool made_file;      /* the file was not there before */
    bool may_stay_empty; /* then there is no file: what it is of may not exist here */
    bool stays_open;     /* a summary alone does not wait for its file to be opened again */
    enum output_way way; /* a file, unless the kind says something else */
    unsigned flags;      /* TOLL_OUTPUT_… */
    struct selection selection;
    struct layout_choice *layout; /* owned, NULL: our own */
    const struct run *run;        /* borrowed, from the beginning on */
    void *state;                  /* of the kind, NULL at first */
    bool has_heading;
    bool follows; /* behind another run in the same file */
    struct buf text;
    unsigned folded;   /* samples that are in the text of a frame, when they are several; reset */
    struct stream out; /* over fd, once it was written to */
    bool has_stream;
    bool is_patient;            /* waits for slow readers, however long they take */
    bool is_cut;                /* a piece was given up in the middle: nothing can follow it */
    struct buf rest;            /* of a piece that a slow reader took only in part … */
    unsigned rest_samples;      /* … and its samples */
    struct chunk_queue waiting; /* pieces after it; without memory until there are any */
    bool is_failure_noted;
    uint64_t chunks;        /* written */
    uint64_t dropped;       /* pieces that could not be written */
    int failure;            /* the last one, negative errno, or 0 */
    uint64_t samples;       /* frames that were handed to it … */
    uint64_t missing;       /* … and those that could not be written */
    _Atomic uint64_t bytes; /* written or sent; a sender's thread adds to it too */
};

/* All formats, NULL-terminated, and each by its name. */
extern const struct sink_kind *const sink_kinds[];
extern const struct sink_kind sink_csv, sink_json, sink_jsonl, sink_lines, sink_mlflow,
    sink_openmetrics, sink_otlp, sink_prometheus, sink_pushgateway, sink_sqlite, sink_sub_tracking,
    sink_text;

/* The kind that writes a format in a layout, or -EINVAL and a sentence. */
int sink_choose_layout(const struct sink_kind *kind, const struct layout_choice *choice,
                       const struct sink_kind **ret, struct toll_error *e);

/* The kind for a format's name, or for a destination when the name is NULL: what stands before its
 * first colon, or the suffix of a path. *ret_rest is the destination without the name in front.
 * -EINVAL and a sentence with what is accepted. */
int sink_choose(const char *format, const char *destination, const struct sink_kind **ret,
                const char **ret_rest, struct toll_error *e);

/* Where the options of a kind begin in a path that ends with its suffix: "run.om,every=5s"; a path
 * may have commas itself. NULL: the path has no suffix of the kind. */
const char *sink_options_start(const struct sink_kind *kind, const char *path);

int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e);

/* For open() of a kind: the file, opened as those of other kinds are. */
int sink_open_file(struct sink *s, const char *path, struct toll_error *e);

/* Whether the path is the file it writes to. */
bool sink_writes_to(const struct sink *s, const char *path);

/* For a caller that has time, before the beginning: what is sent waits for room instead of being
 * dropped, as long as something is taken in that time; -ETIMEDOUT then. The reader of a pipe is
 * waited for without a limit. */
void sink_wait_for_room(struct sink *s, uint64_t no_progress_ns);

/* … until all is taken. */
void sink_flush(struct sink *s);

/* Accepts NULL. discard: remove a file that was made for nothing. */
void sink_close(struct sink *s, bool discard);

/* Of a layout with files of several names, one is known by its name. Such a file is not left there
 * when nothing comes into it. */
void sink_take_file(struct sink *s, const char *path);

/* Each hands one thing to the sink: 0, or the -errno of writing it. */
int sink_begin(struct sink *s, const struct run *run);
int sink_frame(struct sink *s, const struct frame *f);
int sink_process_end(struct sink *s, const struct process_end *e);
int sink_mark(struct sink *s, const struct told_mark *m);
int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence);
int sink_summary(struct sink *s, const struct summary *summary);

/* Whether pieces wait for a slow reader. */
bool sink_has_waiting(const struct sink *s);

/* Writes what the reader takes within that time; whether it took something. */
bool sink_write_waiting(struct sink *s, int timeout_ms);

/* Gives up what is left of them, and counts it. */
void sink_drop_waiting(struct sink *s);

/* Why the last piece could not be written. */
const char *sink_failure(const struct sink *s);

/* Of a sink with a sender: no more pieces come, it has its grace; then wait for that. What came of
 * it is in ret; 0, or -EIO when something was lost. */
void sink_end(struct sink *s);
int sink_wait(struct sink *s, struct output_summary *ret);

/* Of one without: what came of it so far. False: it has no samples, only a summary. */
bool sink_outcome(struct sink *s, struct output_summary *ret);

/* A failure of the sender that nobody was told of yet. */
bool sink_says(struct sink *s, char *ret, size_t capacity);

/* The sender's thread, 0: there is none. */
pid_t sink_thread(const struct sink *s);

/* -EINVAL and a sentence when its layout has no table for a target, or for the machine alone. */
int sink_check_subject(const struct sink *s, bool has_target, struct toll_error *e);

/* Whether its layout has figures of the machine, beside those of a target. */
bool sink_needs_system(const struct sink *s);

/* Whether its layout has PSS or USS in every row. */
bool sink_needs_rollup(const struct sink *s);

/* Whether a second run would make its file unreadable for whoever reads that format. */
bool sink_holds_one_run(const struct sink *s);

/* The summary as such an output would have it, added to *out. -EINVAL and a sentence when the
 * format has none. */
int sink_report(struct buf *out, const struct toll_output *like, const struct selection *selection,
                const struct summary *summary, struct toll_error *e);

/* ==== Run end ================================================================================= */

/* How a run ended, for those whose figures are read when it is over: toll_run_exit_code and the
 * like. */

struct run_end {
    uint64_t time_ms; /* since 1970; 0: it goes on */
    bool has_status, is_signal;
    int status;
};

/* Of a run that is over. */
void run_end_take(struct run_end *ret, const struct summary *s);

/* A figure that tells of it: number, the last so many digits of which are decimals. */
struct run_fact {
    const char *name; /* without toll_run_ */
    const char *help;
    uint64_t number;
    unsigned decimals;
};

enum { RUN_FACTS_AT_MOST = 2 };

/* How many there are; none of a run that goes on. */
size_t run_end_facts(const struct run_end *e, struct run_fact ret[RUN_FACTS_AT_MOST]);

double run_fact_value(const struct run_fact *f);
