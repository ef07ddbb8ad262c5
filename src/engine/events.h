/* SPDX-License-Identifier: MIT
 * What is found while reading and has to reach the outputs: notes, and processes that ended.
 *
 * Reading only adds to the queue. outputs_send_events hands it out, in order, in one place: before
 * a frame or a mark is sent, and at the end of a step. */
#pragma once

#include "metric/frame.h"

#include <stdarg.h>

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
