/* SPDX-License-Identifier: MIT
 * The rows of a sub-tracking file, which is CSV, or SQLite with a table "data":
 *
 *   process_id,code_block_name,position,timestamp
 *   812,load,0,1746129778.99568
 *   812,load,1,1746129781.7855892
 *
 * Position 0 (or START) is where a call of the block begins, 1 (or STOP) where it ends. */
#pragma once

#include "toll.h"

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
