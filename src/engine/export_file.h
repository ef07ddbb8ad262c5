/* SPDX-License-Identifier: MIT
 * A file that is replaced as a whole, or not at all. */
#pragma once

#include "toll.h"

struct export_file {
    int fd;      /* to write to; -1: closed */
    char *path;  /* owned, links followed; NULL: written in place (a pipe, a device) */
    char *other; /* owned: the name it has until then; NULL: it has none yet */
};

/* Files that do not exist or are regular get their new content under another name; what else there
 * is, is written at once. -EBUSY when another toll writes to it. */
int export_file_open(struct export_file *f, const char *path, struct toll_error *e);

/* The new content takes the place of the old. */
int export_file_commit(struct export_file *f, struct toll_error *e);

/* What was not committed is gone. */
void export_file_close(struct export_file *f);
