/* SPDX-License-Identifier: MIT
 * From marks as they were said to phases with figures, in the summary and the record.
 *
 * A step collects what has come. When a phase begins or ends, the target is looked at at once, so
 * that short phases have figures too; all such looks together keep to a share of one core, and what
 * is not looked at is told as not known. */
#pragma once

#include "base/text/buf.h"
#include "engine/tracker.h"
#include "metric/mark.h"
#include "toll.h"

/* ==== Mark intake ============================================================================= */

void mark_intake_init(struct toll_tracker *t);
void mark_intake_done(struct toll_tracker *t);

/* Make the socket for a command that is about to be launched. Without one the run goes on. */
void mark_intake_listen(struct toll_tracker *t);

/* Take what has come. */
void mark_intake_step(struct toll_tracker *t);

/* The target was looked at: its rows are new. */
void mark_intake_look(struct toll_tracker *t);

/* The run is over: before its last look, and after. */
void mark_intake_last(struct toll_tracker *t);
void mark_intake_end(struct toll_tracker *t);

/* A mark of a recorded run. */
void mark_intake_apply(struct toll_tracker *t, const struct mark_text *m, uint64_t at_ns);

/* ==== Phase record ============================================================================ */

/* A record of toll in the place of the files of code blocks. */

/* The files that it is told in, for as long as they are read. */
struct phase_record {
    char *directory; /* owned, and gone with it */
    struct buf points, blocks;
};

/* Writes what a record with one run has as a tracking file and a sub-tracking file. 1; 0 when the
 * path is not that of a record, which may be the tracking file itself. */
int phase_record_open(struct phase_record *ret, const char *path, struct toll_error *e);
void phase_record_close(struct phase_record *p);
