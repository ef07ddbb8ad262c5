/* SPDX-License-Identifier: MIT
 * Handing things to every output. One that fails never disturbs another, nor the run. */
#pragma once

#include "engine/launch.h"
#include "metric/frame.h"
#include "sink/sink.h"
#include "summary/summary.h"

#include <stdarg.h>
#include <stdatomic.h>

/* ==== Events ================================================================================== */

/* What is found while reading and has to reach the outputs: notes, and processes that ended.
 * Reading only adds to the queue. outputs_send_events hands it out, in order, in one place: before
 * a frame or a mark is sent, and at the end of a step. */

enum { NOTE_BYTES = 768 };

struct event {
    uint64_t elapsed_ns;
    char *note;             /* owned sentence; NULL: a process has ended */
    struct process_end end; /* end.process is set when it is sent */
    struct process process; /* its command is owned */
    bool is_recorded;       /* it is for outputs too, not for the summary alone */
};

struct events {
    struct event *items; /* owned */
    size_t count, capacity;
};

/* Adds a sentence: secrets are masked, and what cannot be printed. Without memory it is lost. */
void events_add_note(struct events *e, uint64_t elapsed_ns, const char *format, va_list args);

/* Adds a copy of the process that has ended. Without memory it is lost. */
void events_add_end(struct events *e, const struct process_end *end, bool is_recorded);

/* Forgets them all, and keeps a little room. */
void events_clear(struct events *e);
void events_done(struct events *e);

struct background;
struct tracked;
struct toll_tracker;

/* ==== Outputs ================================================================================= */

struct outputs {
    struct sink **sinks; /* owned */
    size_t count;
    atomic_bool is_hurried; /* outputs that send are not waited for any longer */
    /* Borrowed: */
    const struct toll_options *options; /* for the callbacks of the caller */
    struct background *background;      /* for its queue of notes, and its lock */
    struct summary *summary;
    struct tracked *tracked; /* for its clock, and its events */
};

/* Variables that the outputs set for a command that is about to start. */
void outputs_environment(struct outputs *o, const struct run *run, struct environment *e);

void outputs_begin(struct outputs *o, const struct run *run);

/* Hands out and clears the notes and process ends that were queued. */
void outputs_send_events(struct outputs *o, struct events *events);
void outputs_frame(struct outputs *o, const struct frame *f);
void outputs_mark(struct outputs *o, const struct run_mark *m);

/* 0, or the first failure. Waits for disks and servers: without the lock of a tracker in the
 * background. */
int outputs_summary(struct outputs *o);
void outputs_close(struct outputs *o, bool discard);

/* One more place to write to, before the start. A path that ends with a slash is a directory, for a
 * layout that has several files. */
int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e);

/* Whether an output is such a directory, and one output for each file of the layout in it, which
 * is made when it is not there. Stops when add() fails. */
bool outputs_is_directory(const struct toll_output *o);
int outputs_each_file(const struct toll_output *o,
                      int (*add)(void *arg, const struct toll_output *one, struct toll_error *e),
                      void *arg, struct toll_error *e);

/* ==== Backup ================================================================================== */

/* A file with the results so far, for the case that a run does not get to its end: a Python pickle
 * that makes the data classes of gpu_tracker. It is there from the beginning of the run on, follows
 * the samples at most once a second, and is removed when the run is finished. */

struct backup {
    char *path;   /* owned, absolute: the program may change its directory. NULL: there is none */
    char *layout; /* owned */
    uint64_t due_ns; /* on the clock of the frames */
    bool is_written, has_failed;
};

/* What it is to hold and where; 0, or -errno and a sentence. */
int backup_set(struct toll_tracker *t, const char *path, const char *layout, struct toll_error *e);

/* At the beginning, and with every sample: writes it when it is time. */
void backup_write(struct toll_tracker *t);

/* The run is finished, and its results are elsewhere. */
void backup_remove(struct backup *b);
void backup_done(struct backup *b);
