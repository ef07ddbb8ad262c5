/* SPDX-License-Identifier: MIT
 * Where figures go. A format is one file with a struct sink_kind, and one line in sinks.c.
 *
 * A kind only builds text in sink->text; writing is done here, a whole piece at a time, so that
 * what stands in a file is always a valid prefix of it. A sink that cannot write loses that piece,
 * counts it, and tries again with the next. */
#pragma once

#include "base/buf.h"
#include "base/json_out.h"
#include "dialect/dialect_choice.h"
#include "metric/process.h"
#include "metric/selection.h"
#include "parse/mark_text.h"
#include "summary/phases.h"
#include "summary/summary.h"

struct sink;

/* How a process left the target. */
enum departure { LEFT_REAPED, LEFT_INSIDE, LEFT_LOST };

struct process_end {
    const struct process *process; /* borrowed */
    enum departure how;
    bool has_status; /* reaped by the tracker, which was told how it ended */
    struct toll_end end;
    uint64_t elapsed_ns;
};

/* Something that the job said of itself. */
struct told_mark {
    enum mark_kind kind; /* of a phase: its end */
    const char *name;
    pid_t pid;
    uint64_t elapsed_ns;       /* when it was said */
    uint64_t start_ns;         /* of the run, on the clock of the phase */
    double value;              /* of a gauge */
    struct scan attributes;    /* for mark_text_attribute */
    const struct phase *phase; /* borrowed, NULL: it is none */
};

struct sink_kind {
    struct toll_format format;
    /* All optional, all add to sink->text. */
    void (*begin)(struct sink *s, const struct run *run);
    void (*heading)(struct sink *s, const struct frame *f); /* once, before the first frame */
    void (*frame)(struct sink *s, const struct frame *f);
    void (*process_end)(struct sink *s, const struct process_end *e);
    void (*mark)(struct sink *s, const struct told_mark *m);
    void (*note)(struct sink *s, uint64_t elapsed_ns, const char *sentence);
    void (*summary)(struct sink *s, const struct summary *summary);
    void (*close)(struct sink *s); /* free sink->state */
};

struct sink {
    const struct sink_kind *kind;
    char *name; /* owned: the path, or what the descriptor is called */
    int fd;
    bool owns_fd;
    bool made_file;  /* the file was not there before */
    bool stays_open; /* a summary alone does not wait for its file to be opened again */
    unsigned flags;  /* TOLL_OUTPUT_… */
    struct selection selection;
    struct dialect_choice *dialect; /* owned, NULL: our own */
    const struct run *run;          /* borrowed, from the beginning on */
    void *state;                    /* of the kind, NULL at first */
    bool has_heading;
    struct buf text;
    struct buf rest;  /* of a piece that a slow reader took only in part */
    uint64_t pieces;  /* written */
    uint64_t dropped; /* pieces that could not be written */
    int failure;      /* the last one, negative errno, or 0 */
};

/* THE list of formats, NULL behind the last. */
extern const struct sink_kind *const sink_kinds[];

/* The kind for a format's name, or for the suffix of a path when the name is NULL. -EINVAL and a
 * sentence with what is accepted. */
int sink_choose(const char *format, const char *path, const struct sink_kind **ret,
                struct toll_error *e);

/* Opens the destination. */
int sink_open(struct sink **ret, const struct toll_output *output,
              const struct selection *selection, struct toll_error *e);

/* Whether the path is the file it writes to. */
bool sink_writes_to(const struct sink *s, const char *path);

/* Accepts NULL. discard: remove a file that was made for nothing. */
void sink_close(struct sink *s, bool discard);

/* Each hands one thing to the sink: 0, or the -errno of writing it. */
int sink_begin(struct sink *s, const struct run *run);
int sink_frame(struct sink *s, const struct frame *f);
int sink_process_end(struct sink *s, const struct process_end *e);
int sink_mark(struct sink *s, const struct told_mark *m);
int sink_note(struct sink *s, uint64_t elapsed_ns, const char *sentence);
int sink_summary(struct sink *s, const struct summary *summary);

/* -EINVAL and a sentence when its dialect has no table for a target, or for the machine alone. */
int sink_check_subject(const struct sink *s, bool has_target, struct toll_error *e);

/* Whether its dialect has figures of the machine, beside those of a target. */
bool sink_needs_system(const struct sink *s);

/* The summary as such an output would have it, added to *out. -EINVAL and a sentence when the
 * format has none. */
int sink_report(struct buf *out, const struct toll_output *like, const struct selection *selection,
                const struct summary *summary, struct toll_error *e);
