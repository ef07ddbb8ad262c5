/* SPDX-License-Identifier: MIT
 * The file that hyperfine --export-json writes, which its scripts plot. */
#pragma once

#include "base/text/buf.h"

/* One run. NAN: not known. */
struct hyperfine_run {
    double wall_seconds, user_seconds, system_seconds;
    double
        memory_bytes; /* its peak; NAN also for a lower bound, since the file has no sign for it */
    int status;       /* as in a shell; -1: not known */
};

/* The runs of one command. Everything is borrowed. */
struct hyperfine_result {
    char *const *command;    /* NULL-terminated */
    char *const *parameters; /* "name=value", NULL-terminated; NULL: none */
    const struct hyperfine_run *runs;
    size_t count;
    double mean, sd, median, min, max; /* of the time; sd NAN: one run has none */
};

void hyperfine_write(struct buf *b, const struct hyperfine_result *results, size_t count);
