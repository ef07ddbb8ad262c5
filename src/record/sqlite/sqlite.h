/* SPDX-License-Identifier: MIT
 * What happens in a run as rows of a SQLite file, in a row log: the side that samples. */
#pragma once

#include "base/io/sqlite.h"
#include "base/memory.h"
#include "base/text/buf.h"
#include "base/text/json.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "record/keys.h"
#include "record/reading.h"
#include "summary/phases.h"
#include "summary/summary.h"

/* ==== Schema ================================================================================== */

/* The tables of a SQLite file, made from the table of metrics; docs/sqlite.md describes them.
 * Figures are whole numbers where they can be: seconds are held in nanoseconds (cpu_ns), joules in
 * millionths (energy_microjoules). Views show them in their base units. */

/* ==== Sqlite schema =========================================================================== */

enum {
    SQLITE_SCHEMA_APPLICATION = 0x746f6c6c, /* "toll" */
    SQLITE_SCHEMA_VERSION = 1,
};

/* Entities that have the same number in every run; the others are counted on from there. */
enum {
    SQLITE_ENTITY_COMBINED = 1, /* of all targets together; the other parts follow */
    SQLITE_ENTITY_MAIN,
    SQLITE_ENTITY_DESCENDANTS,
    SQLITE_ENTITY_SELF,
    SQLITE_ENTITY_SYSTEM,
    SQLITE_ENTITY_OTHERS,
};

/* What is written. The first question mark of each is the run, the others are its values in the
 * order of the columns. */
enum sqlite_statement_number {
    STATEMENT_RUN,
    STATEMENT_RUN_END,
    STATEMENT_ENTITY,
    STATEMENT_SAMPLE,
    STATEMENT_PROCESS,
    STATEMENT_PHASE,
    STATEMENT_EVENT,
    STATEMENT_GAUGE,
    STATEMENT_NOTE,
    STATEMENT_FIGURE,
    STATEMENT_ROW, /* + the kind of the entity; target_samples is the last */
    STATEMENTS = STATEMENT_ROW + ENTITY_KINDS + 1,
};

/* What a file says of itself, looked at without locks and without making anything beside it: it may
 * belong to any program. 0, -EBADMSG when it is no SQLite file, other errors. */
int sqlite_schema_peek(const char *path, int64_t *ret_application, int64_t *ret_version,
                       struct toll_error *e);

/* Whether a file with that application_id and user_version is one that this toll reads and writes:
 * 0, or -EINVAL and a sentence. */
int sqlite_schema_is_ours(const char *path, int64_t application, int64_t version,
                          struct toll_error *e);

/* The metrics that have columns in the samples of a kind, as bits. */
uint64_t sqlite_schema_metrics(enum entity_kind kind);

/* "cpu_ns" for cpu_seconds. */
void sqlite_schema_column(struct buf *b, const struct metric *m);

/* The statement as SQL, added to *b. */
void sqlite_schema_statement(struct buf *b, unsigned number);

/* -EBADMSG and a sentence when one of the tables is there and is none (sqlite_find_table). */
int sqlite_schema_check_kinds(struct sqlite *db, struct toll_error *e);

/* *ret_complete: all tables have all columns. */
int sqlite_schema_check(struct sqlite *db, bool *ret_complete, struct toll_error *e);

/* Makes whatever is missing: everything in a new file, columns of new metrics in an old one. In a
 * transaction of the caller's. */
int sqlite_schema_make(struct sqlite *db, struct toll_error *e);

/* ==== Sqlite tables =========================================================================== */

/* The columns of a table are, in this order: the run, columns of its own, those of objects of the
 * record (record.def), further columns of its own, and those of metrics. */

enum { SQLITE_OWN_COLUMNS = 13, SQLITE_TABLE_OBJECTS = 4 };

struct sqlite_column {
    const char *name;
    const char *type;
};

struct sqlite_table {
    const char *name;
    const char *keys; /* columns that identify a row, beside the run */
    struct sqlite_column columns[SQLITE_OWN_COLUMNS]; /* the last has no name */
    enum record_object objects[SQLITE_TABLE_OBJECTS];
    unsigned object_count;
    unsigned may_be_null;            /* bits of the objects that may be missing */
    struct sqlite_column further[2]; /* nullable */
    bool has_metrics;
};

/* By the number of its statement, from STATEMENT_ENTITY on. Those of samples have the name of their
 * kind in front. */
const struct sqlite_table *sqlite_table(unsigned number);

/* Whether the column is one of the table, and not of a metric. */
bool sqlite_table_has_own(unsigned number, const char *column);

/* Adds the name of the table. */
void sqlite_table_name(struct buf *b, unsigned number);

/* Whether the column of a key can never be NULL; is_nullable: the object may be missing. */
bool sqlite_key_is_required(const struct record_key *k, bool is_nullable);

/* ==== Sqlite views ============================================================================ */

/* Views of a SQLite file for people: names instead of numbers, base units, times of day. */

/* SQL that makes all of them anew, ending with a semicolon. */
void sqlite_views_add(struct buf *b);

/* ==== Sqlite entities ========================================================================= */

/* The numbers of entities, by which rows of a SQLite file name what they are of. An entity gets one
 * and is described when it is first met; a process gets another one when its name, its parent or
 * its targets have changed. */

enum { SQLITE_TARGETS_AT_MOST = 64 };

struct known_process;

struct sqlite_entities {
    struct buf met; /* rows for those that were met since it was last emptied */
    unsigned next;  /* number; 0 before the first */
    uint64_t fixed; /* bits of the fixed numbers that were met */
    unsigned targets[SQLITE_TARGETS_AT_MOST][PARTS];
    unsigned *instances; /* owned, by the numbers of the instances */
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

/* ==== Sqlite rows ============================================================================= */

struct sqlite_rows {
    struct sqlite_entities entities;
    uint64_t seq; /* of the next sample, process or mark: readers restore the order with it */
};

void sqlite_rows_run(struct buf *b, const struct run *run, const struct selection *selection);

/* New entities are described in rows->entities.met, which has to be written first. */
void sqlite_rows_frame(struct buf *b, struct sqlite_rows *rows, const struct frame *f,
                       const struct run *run, const struct selection *selection);
void sqlite_rows_process_end(struct buf *b, struct sqlite_rows *rows, const struct process_end *e,
                             const struct run *run, const struct selection *selection);
void sqlite_rows_mark(struct buf *b, struct sqlite_rows *rows, const struct run_mark *m,
                      const struct selection *selection);
void sqlite_rows_note(struct buf *b, struct sqlite_rows *rows, uint64_t elapsed_ns,
                      const char *sentence);

/* The same for what it came to. */
void sqlite_summary(struct buf *b, struct sqlite_rows *rows, const struct summary *s,
                    const struct selection *selection);

/* ==== Row log ================================================================================= */

/* Rows on their way to a database, as bytes: they are written while a sample is taken, quickly and
 * without SQLite, and the sender's thread binds them to its statements. A row is the number of its
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

enum row_log_is {
    ROW_LOG_END,
    ROW_LOG_ROW,
    ROW_LOG_NULL,
    ROW_LOG_I64,
    ROW_LOG_DOUBLE,
    ROW_LOG_TEXT
};

struct row_log_item {
    unsigned statement; /* of a row */
    int64_t i;
    double d;
    struct scan text;
};

/* The next item of the log; at its end, and where it is cut short, ROW_LOG_END. */
enum row_log_is sqlite_row_log_next(struct scan *row_log, struct row_log_item *ret);

/* ==== Source ================================================================================== */

/* A SQLite file that toll wrote (docs/sqlite.md) as the source of a record: what its lines would
 * be, in their order, one at a time. */

struct sqlite_source;

/* 1: it is a file of ours, and open for reading; 0: it is no SQLite file. Negative and a sentence
 * when another program or a newer toll made it, or it cannot be read. */
int sqlite_source_open(struct sqlite_source **ret, const char *path, struct toll_error *e);

/* Accepts NULL. */
void sqlite_source_close(struct sqlite_source *s);

/* 1 and the type of what comes next; 0 at the end. run: the one that was read last. */
int sqlite_source_next(struct sqlite_source *s, const struct run *run, enum record_line *ret,
                       enum mark_kind *ret_kind, struct toll_error *e);

/* Reads what sqlite_source_next returned. 1, or 0 when it is not as expected; negative and a
 * sentence otherwise. */
int sqlite_source_read(struct sqlite_source *s, struct reading *r, struct toll_error *e);

/* The number that the file gives to the run that was read last. */
uint64_t sqlite_source_run(const struct sqlite_source *s);

/* ==== Sqlite figures ========================================================================== */

/* Rows that have a column for each metric. */

enum { SQLITE_COLUMNS_AT_MOST = 256 };

/* Which metric each column of a statement is, found by their names once. */
struct sqlite_figures {
    enum entity_kind kind;
    int columns;
    int of[SQLITE_COLUMNS_AT_MOST]; /* the number of a metric in its kind, or one of: */
};

enum { COLUMN_IS_NO_METRIC = -1, COLUMN_IS_UNKNOWN = -2 };

/* The columns from first on, of the table with that statement, or of others when it is 0. */
void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, unsigned table);

/* The row that is there; NULL is unknown. False when a figure is not a number that it can be. */
bool sqlite_figures_read(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret);

/* The name of a column that is not known and has a value, or NULL. */
const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st);
