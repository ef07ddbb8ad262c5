/* SPDX-License-Identifier: MIT
 * The file for what could not be sent: operations (spool_ops.h) one behind the other. It is made
 * when it is needed, for its owner alone, and removed when nothing is left in it. */
#pragma once

#include "sink/spool_ops.h"
#include "toll.h"

struct spool {
    char *path;          /* owned; NULL: nothing is put aside */
    struct buf head;     /* what a file begins with */
    int fd;              /* -1: there is none */
    uint64_t length;     /* of the file */
    uint64_t sent;       /* … of which so much has been sent */
    uint64_t most_bytes; /* that it may have, 0: any number */
    bool is_ours;        /* its place is, and is made when it is needed */
};

/* kind: of the output, for its name and for sentences; file: its path, "none", or NULL for one in
 * the state directory of the user; id: part of its name then. Nothing is made yet, but -EINVAL and
 * a sentence when it could not be where it was named. */
int spool_init(struct spool *s, const char *kind, const char *file, const char *id,
               struct toll_error *e);

/* Whether there is anything in it that has not been sent. */
bool spool_has_some(const struct spool *s);

/* All of it or nothing. A file of that name that is there already is somebody's: then it is another
 * one, with a number behind its name. is_last: what must not be missing, however large the file is.
 * 0 or -errno; -EFBIG: it has become as large as it may. */
int spool_add(struct spool *s, const char *data, size_t length, bool is_last);

/* Opens a file that is there, to be sent: nobody else writes to it meanwhile. -EBUSY: somebody
 * does; -EBADMSG: it is no spool. */
int spool_open(struct spool *s, const char *path);

/* Calls visit with every operation from *at on, and moves *at behind those for which it returned 0;
 * otherwise it stops there and returns that. 0 at the end; -EBADMSG where the file makes no sense,
 * or is cut short. */
int spool_each(const struct spool *s, uint64_t *at,
               int (*visit)(void *arg, const struct spool_op *op), void *arg);

/* All of it has been sent: the file is gone. */
void spool_remove(struct spool *s);

/* The file stays when something is in it. */
void spool_done(struct spool *s);
