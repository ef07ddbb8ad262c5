/* SPDX-License-Identifier: MIT
 * The figures of the calling process, asked of the kernel by calls where there are some: a tenth of
 * what the files of another process cost. */
#pragma once

#include "base/own_files.h"
#include "metric/frame.h"

#include <sys/stat.h>
#include <sys/types.h>

struct own_figures {
    pid_t pid;            /* whose descriptors these are: after a fork they are the parent's */
    const bool *is_owner; /* a page that the kernel empties in a fork, or NULL: it cannot */
    /* The program may close them, and open others under their numbers. */
    struct known_file statm, io;
    struct known_file tasks, files; /* directories; that of the files tells how many there are since
                                       Linux 6.2 */
    bool counts_files;
    uint64_t page_bytes;
};

/* Whether all of those process metrics are to be had this way. */
bool own_figures_give(uint64_t wanted);

void own_figures_open(struct own_figures *o);

/* What of those process metrics is to be had, into a row of a process. 0, or -ESRCH in a fork. */
int own_figures_read(struct own_figures *o, uint64_t wanted, struct row *row);

void own_figures_close(struct own_figures *o);
