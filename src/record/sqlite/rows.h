/* SPDX-License-Identifier: MIT
 * What happens in a run as rows of a SQLite file, on a tape: the side of it that samples. */
#pragma once

#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "summary/phases.h"
#include "summary/summary.h"

/* ==== Sqlite entities ========================================================================= */

/* The numbers by which rows of a SQLite file say what they are of. A thing gets one when it is
 * first met, and is described then; a process another one when it has changed its name, its parent
 * or its targets. */

enum { SQLITE_TARGETS_AT_MOST = 64 };

struct known_process;

struct sqlite_entities {
    struct buf met; /* rows for those that were met since it was last emptied */
    unsigned next;  /* number; 0 before the first */
    uint64_t fixed; /* bits of the fixed numbers that were met */
    unsigned targets[SQLITE_TARGETS_AT_MOST][PARTS];
    unsigned *instances; /* owned, by the numbers of the things */
    size_t instance_capacity;
    struct map pids;             /* to the places of processes */
    struct known_process *known; /* owned */
    size_t known_count, known_capacity;
};

void sqlite_entities_done(struct sqlite_entities *x);

/* target NULL: all together; otherwise the one with that index. */
unsigned sqlite_entities_part(struct sqlite_entities *x, const struct run_target *target,
                              size_t index, enum part part);
unsigned sqlite_entities_self(struct sqlite_entities *x);
unsigned sqlite_entities_instance(struct sqlite_entities *x, const struct instance *m);
unsigned sqlite_entities_process(struct sqlite_entities *x, const struct run *run,
                                 const struct entity *e);

/* It will not be met again. */
void sqlite_entities_left(struct sqlite_entities *x, const struct entity *e);

/* The names of the targets it belongs to as a value, unknown where there are not several. */
void sqlite_entities_targets(struct buf *b, const struct run *run, uint64_t targets);

/* ==== Sqlite rows ============================================================================= */

struct sqlite_rows {
    struct sqlite_entities entities;
    uint64_t seq; /* everything that was told is numbered, so that its order can be found again */
};

void sqlite_rows_run(struct buf *b, const struct run *run, const struct selection *selection);

/* New entities are described in rows->entities.met, which has to be written first. */
void sqlite_rows_frame(struct buf *b, struct sqlite_rows *rows, const struct frame *f,
                       const struct run *run, const struct selection *selection);
void sqlite_rows_process_end(struct buf *b, struct sqlite_rows *rows, const struct process_end *e,
                             const struct run *run, const struct selection *selection);
void sqlite_rows_mark(struct buf *b, struct sqlite_rows *rows, const struct told_mark *m,
                      const struct selection *selection);
void sqlite_rows_note(struct buf *b, struct sqlite_rows *rows, uint64_t elapsed_ns,
                      const char *sentence);

/* The same for what it came to. */
void sqlite_summary(struct buf *b, struct sqlite_rows *rows, const struct summary *s,
                    const struct selection *selection);

/* ==== Sqlite tape ============================================================================= */

/* Rows on their way to a database, as bytes: whoever samples writes them down, quickly and without
 * SQLite, and the sender's thread plays them into its statements. A row is the number of its
 * statement and the values for its question marks. */

/* Values of the row that was begun last. */
void sqlite_row_log_row(struct buf *b, unsigned statement);
void sqlite_row_log_null(struct buf *b);
void sqlite_row_log_i64(struct buf *b, int64_t value);
void sqlite_row_log_u64(struct buf *b, uint64_t value); /* unknown when SQLite has no room for it */
void sqlite_row_log_double(struct buf *b, double value); /* NAN is unknown */

/* NULL is unknown. As in JSON, a byte that is no UTF-8 becomes the character of the same number. */
void sqlite_row_log_text(struct buf *b, const char *value);

/* Text that json_… functions add to the same buffer, between the two calls. */
size_t sqlite_row_log_json(struct buf *b, struct json_out *j);
void sqlite_row_log_json_end(struct buf *b, size_t began);

enum row_log_is { TAPE_END, TAPE_ROW, TAPE_NULL, TAPE_I64, TAPE_DOUBLE, TAPE_TEXT };

struct row_log_item {
    unsigned statement; /* of a row */
    int64_t i;
    double d;
    struct scan text;
};

/* The next thing on the tape; at its end, and where it is cut short, TAPE_END. */
enum row_log_is sqlite_row_log_next(struct scan *row_log, struct row_log_item *ret);
