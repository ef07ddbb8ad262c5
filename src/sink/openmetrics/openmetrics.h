/* SPDX-License-Identifier: MIT
 * All samples of a run in one OpenMetrics file, with their times.
 *
 * OpenMetrics wants the samples of a series one behind the other, and they come one of each at a
 * time. So while the run goes lines are added as they come, each family described before its first
 * one: what stands there after a kill is whole lines that lack "# EOF", and loads with that added
 * (promtool does not mind the order). The points are kept beside it in a file without a name too;
 * at the end they are written in order into another one, which takes the place of the first at
 * once. */
#pragma once

#include "sink/points.h"

struct om_file {
    struct points *points; /* borrowed */
    int fd;                /* borrowed: the file itself */
    bool is_regular;       /* not a pipe or a device */
    bool is_cut;           /* a reader took half of a text and no more */
    const char *path;      /* borrowed; NULL: it cannot be replaced, a pipe for instance */
    int spool;             /* all points, -1: there is none */
    uint64_t *counts;      /* owned: points in the spool, by series */
    size_t series_count;
    uint64_t families[ENTITY_TARGET + 1]; /* bits of metrics that were described, by kind */
    struct buf text;
    uint64_t bytes;        /* that stand in the file */
    size_t points_at_once; /* while they are put in order, in memory; 0: 4 million */
};

/* path is looked at: only a regular file is replaced. */
void om_file_init(struct om_file *f, struct points *points, int fd, const char *path);
void om_file_done(struct om_file *f);

/* Writes the lines of a piece. 0 or -errno, and nothing of it is in the file. */
int om_file_add(struct om_file *f, const char *chunk, size_t length);

/* Puts the lines in order, or adds "# EOF" where that is not possible. 0 or -errno. */
int om_file_finish(struct om_file *f);
