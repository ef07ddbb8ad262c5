/* SPDX-License-Identifier: MIT
 * Code blocks and their calls, from a sub-tracking file. A stop ends the last call of that block in
 * that process that has not ended, so that blocks may call themselves; a call without an end does
 * not count. */
#pragma once

#include "base/text/buf.h"
#include "layout/gpu_tracker/row_file.h"
#include "toll.h"

#include <stdbool.h>
#include <stddef.h>

/* ==== Block calls ============================================================================= */

struct block_call {
    double start, stop; /* seconds since 1970 */
};

struct block {
    char *name;               /* owned */
    struct block_call *calls; /* owned, by process, then by their end */
    size_t call_count;
    struct block_call *spans; /* owned: when any call was under way, in order, none overlapping */
    size_t span_count;
};

struct blocks {
    struct block *list; /* owned, by name */
    size_t count;
};

int blocks_read(struct blocks *ret, const char *path, struct toll_error *e);
void blocks_done(struct blocks *b);

/* For how long a call of it had been under way then, both ends included; NAN: there was none. */
double block_since(const struct block *b, double time);

/* ==== Block rows ============================================================================== */

/* The rows of a sub-tracking file, which is CSV, or SQLite with a table "data":
 *
 *   process_id,code_block_name,position,timestamp
 *   812,load,0,1746129778.99568
 *   812,load,1,1746129781.7855892
 *
 * Position 0 (or START) is where a call of the block begins, 1 (or STOP) where it ends. */

struct block_stamp {
    int64_t pid;
    const char *name; /* borrowed; good until the next row */
    bool is_stop;
    double time;     /* seconds since 1970 */
    uint64_t number; /* of the row, from 1 */
};

enum { BLOCK_PID, BLOCK_NAME, BLOCK_POSITION, BLOCK_TIME, BLOCK_COLUMNS };

extern const char *const block_columns[BLOCK_COLUMNS];

struct block_rows;

int block_rows_open(struct block_rows **ret, const char *path, struct toll_error *e);
void block_rows_close(struct block_rows *b); /* accepts NULL */

/* 1: there is one; 0: it was the last; negative: an error, with a sentence. */
int block_rows_next(struct block_rows *b, struct block_stamp *ret, struct toll_error *e);

/* ==== Block log =============================================================================== */

/* A sub-tracking file that is being written. */

struct block_log;

/* Nothing may be there yet: -EEXIST. The file is there once it was committed. */
int block_log_open(struct block_log **ret, const char *path, enum row_format format,
                   struct toll_error *e);
void block_log_close(struct block_log *l); /* accepts NULL */

int block_log_put(struct block_log *l, const struct block_stamp *s, struct toll_error *e);
int block_log_commit(struct block_log *l, struct toll_error *e);

/* The text of a CSV, for who writes it himself. */
void block_log_heading(struct buf *b, const char *newline);
void block_log_row(struct buf *b, const struct block_stamp *s, const char *newline);

/* The same in SQL: what makes the table, and what puts a row of four values into it. */
extern const char block_log_create[];
extern const char block_log_insert[];
