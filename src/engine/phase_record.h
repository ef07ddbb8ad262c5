/* SPDX-License-Identifier: MIT
 * A record of toll in the place of the files of code blocks. */
#pragma once

#include "base/buf.h"
#include "toll.h"

/* The files that it is told in, for as long as they are read. */
struct phase_record {
    char *directory; /* owned, and gone with it */
    struct buf points, blocks;
};

/* Writes what a record with one run has as a tracking file and a sub-tracking file. 1; 0 when the
 * path is not that of a record, which may be the tracking file itself. */
int phase_record_open(struct phase_record *ret, const char *path, struct toll_error *e);
void phase_record_close(struct phase_record *p);
