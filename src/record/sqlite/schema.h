/* SPDX-License-Identifier: MIT
 * The tables of a SQLite file, made from the table of metrics; docs/sqlite.md describes them.
 *
 * Figures are whole numbers where they can be: seconds are held in nanoseconds (cpu_ns), joules in
 * millionths (energy_microjoules). Views show them in their base units. */
#pragma once

#include "base/io/sqlite.h"
#include "base/text/buf.h"
#include "metric/metric.h"
#include "record/keys.h"

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
