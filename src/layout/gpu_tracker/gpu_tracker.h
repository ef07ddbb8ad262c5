/* SPDX-License-Identifier: MIT
 * The files of gpu-tracker, row by row, whether they are CSV or SQLite. A file may have two tables:
 * in CSV one follows the other, each with its heading; in SQLite they have names. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== Row file ================================================================================ */

struct row_file;

enum row_format { ROWS_CSV, ROWS_SQLITE };

int row_file_open(struct row_file **ret, const char *path, struct toll_error *e);
void row_file_close(struct row_file *f); /* accepts NULL */

enum row_format row_file_format(const struct row_file *f);

/* Go to the next table, which SQLite knows by its name. -ENODATA and a sentence when the file ends
 * before it. */
int row_file_table(struct row_file *f, const char *name, struct toll_error *e);

/* The columns of the table; names live until the next table. */
size_t row_file_columns(const struct row_file *f);
const char *row_file_name(const struct row_file *f, size_t column);

/* The number of a column, or -ENOENT and a sentence. */
int row_file_column(const struct row_file *f, const char *name, struct toll_error *e);

/* 1: there is a row; 0: there is none left; negative: an error, with a sentence that names the
 * place.
 */
int row_file_next(struct row_file *f, struct toll_error *e);

/* Of the row, good until the next. */
const char *row_file_text(const struct row_file *f, size_t column);

/* NAN when the cell is empty; -EBADMSG and a sentence when there is something else in it. */
int row_file_number(const struct row_file *f, size_t column, double *ret, struct toll_error *e);

/* ==== Point store ============================================================================= */

/* A tracking file in CSV, made one in SQLite: a table "static_data" and a table "data". */

/* Takes the place of a file that is there, as a whole. */
int points_to_sqlite(const char *csv, const char *sqlite, struct toll_error *e);

/* ==== Combine ================================================================================= */

/* Sub-tracking files made one, and files of that kind written. */

/* All rows of all files, in their order, into a file that is not there yet and has the same suffix.
 * It comes into being whole or not at all. files: NULL-terminated. */
int combine_blocks(const char *destination, const char *const *files, struct toll_error *e);

/* ==== Results text ============================================================================ */

/* The text of gpu-tracker's results: titles, indented by tabs, above tables as pandas prints them.
 *
 *   Overall:
 *   	                  min        max …
 *   	main_ram   0.08691302 1.57649306 … */

/* A table of cells that are text already. The first column, the names of the rows, stands at the
 * left; the others at the right of theirs, under their names. */
struct text_frame {
    size_t rows, columns;
    const char *const *row_names;    /* NULL: they have none */
    const char *const *column_names; /* numbers leave room for a sign above them: " min" */
    struct buf *cells;               /* row by row */
    bool is_text;                    /* the columns are no numbers: no room above them */
};

void text_frame_write(struct buf *b, const struct text_frame *f, unsigned tabs);

/* Numbers have eight decimals at most; NAN is "NaN". */
void text_number(struct buf *b, double value);

/* "main_n_threads" -> "Main N Threads:", and a newline. */
void text_title(struct buf *b, const char *key, unsigned tabs);
void text_tabs(struct buf *b, unsigned tabs);

/* ==== Code blocks ============================================================================= */

/* Code blocks and their calls, from a sub-tracking file. A stop ends the last call of that block in
 * that process that has not ended, so that blocks may call themselves; a call without an end does
 * not count. */

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

/* ==== Analysis ================================================================================ */

/* What a tracking session used, over all and in each of its code blocks: from a file with a row for
 * each time point and one with the calls, or from what was written of an earlier analysis. No
 * column is known here: the figures are those that the file has. */

/* ==== Spread ================================================================================== */

/* Smallest, largest, mean and standard deviation of numbers as they come. */

struct spread {
    uint64_t count;
    double min, max;
    long double sum;
    double center, squares; /* Welford's: no digits are lost when all are large and alike */
};

/* NAN is no number: it does not count. */
void spread_add(struct spread *s, double value);

/* The statistics, in the order and under the names of gpu-tracker. */
enum statistic { STATISTIC_MIN, STATISTIC_MAX, STATISTIC_MEAN, STATISTIC_STD, STATISTICS };

extern const char *const statistic_names[STATISTICS];

/* NAN without numbers. The deviation is that of the whole, not of a sample of it. */
double spread_get(const struct spread *s, enum statistic which);

/* -EINVAL when there is none of that name. */
int statistic_by_name(const char *name);

/* ==== Analysis ================================================================================ */

/* A fact that holds for the whole session: its unit of RAM, its number of cores. */
struct session_fact {
    char *name; /* owned */
    char *text; /* owned */
    bool is_number, is_integer;
    double number;
};

/* Whether a number that was written so is whole; larger ones than a double holds exactly are not.
 */
static inline bool session_fact_is_integer(const char *text, double number)
{
    return !strpbrk(text, ".eE") && number >= -0x1p53 && number <= 0x1p53;
}

/* Of one figure, by enum statistic. */
struct usage {
    double of[STATISTICS];
    bool is_integer[STATISTICS]; /* was read as a whole number, and is written as one */
};

struct block_results {
    char *name; /* owned */
    uint64_t timepoints, calls, non_empty_calls;
    struct usage compute_time; /* of a call, in seconds */
    double total_time;
    struct usage *usage; /* owned: of each figure */
};

struct analysis {
    char **figures; /* owned names */
    size_t figure_count;
    struct usage *overall;      /* owned: of each figure */
    struct session_fact *facts; /* owned */
    size_t fact_count;
    struct block_results *blocks; /* owned */
    size_t block_count;
};

/* blocks NULL: the session alone. */
int analysis_make(struct analysis *ret, const char *points, const char *blocks,
                  struct toll_error *e);
void analysis_done(struct analysis *a);

/* As gpu-tracker writes them; reading takes what was written. */
void analysis_write_text(struct buf *b, const struct analysis *a);
void analysis_write_json(struct buf *b, const struct analysis *a);
int analysis_read_json(struct analysis *ret, const char *path, struct toll_error *e);

/* ==== Comparison ============================================================================== */

/* Several tracking sessions side by side: one statistic of each figure, over all and in each code
 * block, the smallest first. Blocks are the same when their names are, or when they differ by the
 * number of the line alone ("main.py:12" and "main.py:14") and have the same place. */

struct comparison {
    const char *const *names;  /* of the sessions, borrowed */
    struct analysis *sessions; /* borrowed; their blocks are put in order */
    size_t count;
    enum statistic statistic;
    size_t first; /* set by comparison_match: the one that the others are matched with, which is the
                     first by name */
};

/* Puts the blocks in order and checks that they match. note is called for those that match but for
 * the line; may be NULL. */
int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e);

void comparison_write_text(struct buf *b, const struct comparison *c);
void comparison_write_json(struct buf *b, const struct comparison *c);
