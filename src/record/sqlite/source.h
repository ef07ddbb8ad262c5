/* SPDX-License-Identifier: MIT
 * A SQLite file that toll wrote (docs/sqlite.md) as the lines of a record: what was told in a run
 * is put in its order again, a line at a time, so that whoever reads records reads these too. */
#pragma once

#include "summary/summary.h"

struct sqlite_source;

/* 1: it is a file of ours, and open for reading; 0: it is no SQLite file. Negative and a sentence
 * when it is somebody else's, of a newer toll, or cannot be read. */
int sqlite_source_open(struct sqlite_source **ret, const char *path, struct toll_error *e);

/* Accepts NULL. */
void sqlite_source_close(struct sqlite_source *s);

/* 1 and the next line, good until the next call; 0 behind the last. run: the one that the last line
 * of that type told of. */
int sqlite_source_next(struct sqlite_source *s, const struct run *run, const char **ret,
                       size_t *ret_length, struct toll_error *e);

/* The number that the file gives to the run of the last line. */
uint64_t sqlite_source_run(const struct sqlite_source *s);
