/* SPDX-License-Identifier: MIT
 * Reads a record (docs/formats.md) as what it was made of: facts of a run, frames, marks, and so
 * on, one after the other, so that any sink can be handed them as if they happened now. A record
 * is a file of lines or one of SQLite's; however long it is, one line of it is in memory. */
#pragma once

#include "record/reading.h"

/* ==== Record reader =========================================================================== */

enum record_item_kind {
    RECORD_RUN, /* one begins */
    RECORD_FRAME,
    RECORD_PROCESS_END,
    RECORD_MARK,
    RECORD_NOTE,
    RECORD_SUMMARY, /* the run is over: each has one, even if the record lacks it */
};

/* Everything is borrowed until the next item. */
struct record_item {
    enum record_item_kind kind;
    const struct run *run; /* of all kinds; lives until the next run */
    uint64_t number;       /* of the run in its record */
    const struct frame *frame;
    const struct process_end *process_end;
    const struct run_mark *mark;
    const char *sentence; /* of a note */
    uint64_t elapsed_ns;  /* of a note */
    const struct summary *summary;
    const struct selection *selection; /* what the record has of the run, as far as it was read */
    const char *cut_short; /* of a summary that was made of the samples: a sentence that says so */
    bool may_be_running;   /* with cut_short: on another machine, or of another user */
};

/* What holds of the items, whatever is in the file, so that no sink has to look. A line that would
 * break it is an error, never an item:
 *   - A run comes first and ends with exactly one summary; everything between is of that run.
 *   - A frame has the targets that the run has, in its order and with its names (none where there
 *     is but one), and the same parts of them as the first frame of the run had. There is a
 *     combined part wherever there is another one.
 *   - Ticks of frames rise, their time does not fall.
 *   - An instance of the machine is in a frame or a summary at most once, and there is one machine.
 * Its number is the same in the whole run, and no label is called as one of its figures.
 *   - Rows have figures of their own kind alone; numbers are finite, and fit their types. None is
 *     known and a lower bound as well; lower bounds are of targets and processes.
 *   - Names and texts are UTF-8 without a zero, and never NULL, but for those of the run that may
 *     be unknown. No key of labels or attributes is empty, comes twice, or has a '='. */
struct record_reader;

/* A file of lines, or of SQLite's. */
int record_reader_open(struct record_reader **ret, const char *path, struct toll_error *e);

/* A file of lines. fd is borrowed; name is for sentences, and copied. */
int record_reader_new(struct record_reader **ret, int fd, const char *name, struct toll_error *e);

/* Accepts NULL. */
void record_reader_free(struct record_reader *r);

/* Only metrics that one of the globs is the name of will be wanted: facts of runs say so. Copied; 0
 * or -ENOMEM. */
int record_reader_narrow(struct record_reader *r, const char *metrics);

/* Whether what looks like a secret is shown as it is, and the arguments of commands at all. Without
 * this call only the latter are. */
void record_reader_show(struct record_reader *r, bool secrets, bool arguments);

/* 1 and the next item, 0 at the end of the record. -EBADMSG and a sentence with the number of the
 * line that is not as expected, or the -errno of reading. */
int record_reader_next(struct record_reader *r, struct record_item *ret, struct toll_error *e);

/* The metrics that the record has of the run, as far as it was read: sinks leave others out. */
const struct selection *record_reader_selection(const struct record_reader *r);

/* The first key or type of line that this version does not know, or "". */
const char *record_reader_unknown(const struct record_reader *r);

/* ==== Being written =========================================================================== */

/* Whether a record without an end still grows. */

enum writer {
    WRITER_GONE,
    WRITER_THERE,
    WRITER_UNKNOWN, /* on another machine, or of another user */
};

/* A file of lines is locked while it is written. */
enum writer being_written_lines(int fd);

/* Several may write to a SQLite file: whether the toll that measures the run is there, and has the
 * file open. */
enum writer being_written_tables(const char *path, const struct run *run);

/* ==== No summary ============================================================================== */

/* The summary of a run whose record has none: what its samples came to. */

/* Completes reading->summary. Returns a sentence on what is missing, and why, which is a note of it
 * too. */
const char *no_summary_make(struct reading *r, enum writer writer, bool is_sqlite);
