/* SPDX-License-Identifier: MIT
 * Whether a record without an end still grows. */
#pragma once

#include "summary/run_facts.h"

enum writer {
    WRITER_GONE,
    WRITER_THERE,
    WRITER_UNKNOWN, /* on another machine, or of another user */
};

/* Of a file of lines: whoever writes it holds a lock on it. */
enum writer being_written_lines(int fd);

/* Of a SQLite file, which several may write to: whether the one that measures the run is there, and
 * has the file open. */
enum writer being_written_tables(const char *path, const struct run *run);
