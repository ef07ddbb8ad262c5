/* SPDX-License-Identifier: MIT
 * A file with the results so far, for the case that a run does not get to its end: a Python pickle
 * that makes the data classes of gpu_tracker. It is there from the beginning of the run on, follows
 * the samples at most once a second, and is removed when the run is finished. */
#pragma once

#include "toll.h"

struct backup {
    char *path;    /* owned, absolute: the program may change its directory. NULL: there is none */
    char *dialect; /* owned */
    uint64_t due_ns; /* on the clock of the frames */
    bool is_written, has_failed;
};

/* What it is to hold and where; 0, or -errno and a sentence. */
int backup_set(struct toll_tracker *t, const char *path, const char *dialect, struct toll_error *e);

/* At the beginning, and with every sample: writes it when it is time. */
void backup_write(struct toll_tracker *t);

/* The run is finished, and its results are elsewhere. */
void backup_remove(struct toll_tracker *t);
void backup_done(struct toll_tracker *t);
