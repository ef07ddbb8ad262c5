/* SPDX-License-Identifier: MIT
 * One SQLite file that is written: made before anything runs, then opened again by the thread that
 * writes to it. Several programs may write to the same file at once; each batch is a transaction.
 */
#pragma once

#include "base/err.h"
#include "sink/sender.h"

/* Makes the file, or makes sure that it is one of toll's, and that it can be written to: a file of
 * somebody else is not touched. *ret_made: it was not there. */
int sqlite_file_prepare(const char *path, bool *ret_made, struct toll_error *e);

/* Removes a file that was made for a run that never began, unless there are others' runs in it. */
void sqlite_file_discard(const char *path);

struct sqlite_file;

/* e is never NULL below, and what it says does not name the file. is_apart: the calling thread has
 * descriptors of its own. */
int sqlite_file_open(struct sqlite_file **ret, const char *path, bool is_apart,
                     struct toll_error *e);

/* Accepts NULL. */
void sqlite_file_close(struct sqlite_file *f);

/* All of it or nothing. The run has to be in the first batch. */
int sqlite_file_write(struct sqlite_file *f, const struct batch *b, struct toll_error *e);
