/* SPDX-License-Identifier: MIT
 * A sub-tracking file that is being written. */
#pragma once

#include "base/buf.h"
#include "subtrack/block_rows.h"
#include "subtrack/row_file.h"

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
