/* SPDX-License-Identifier: MIT
 * The file for what could not be sent: operations (mlflow_ops.h) one behind the other. It is made
 * when it is needed, for its owner alone, and removed when nothing is left in it. */
#pragma once

#include "sink/mlflow_ops.h"
#include "toll.h"

struct mlflow_spool {
    char *path;          /* owned; NULL: nothing is put aside */
    struct buf head;     /* what a file begins with */
    int fd;              /* -1: there is none */
    uint64_t length;     /* of the file */
    uint64_t sent;       /* … of which so much has been sent */
    uint64_t most_bytes; /* that it may have, 0: any number */
    bool is_ours;        /* its place is, and is made when it is needed */
};

/* file: its path, "none", or NULL for one in the state directory of the user; run: part of its name
 * then. Nothing is made yet, but -EINVAL and a sentence when it could not be where it was named. */
int mlflow_spool_init(struct mlflow_spool *s, const char *file, const char *run,
                      struct toll_error *e);

/* Whether there is anything in it that has not been sent. */
bool mlflow_spool_has_some(const struct mlflow_spool *s);

/* All of it or nothing. A file of that name that is there already is somebody's: then it is another
 * one, with a number behind its name. is_last: what must not be missing, however large the file is.
 * 0 or -errno; -EFBIG: it has become as large as it may. */
int mlflow_spool_add(struct mlflow_spool *s, const char *data, size_t length, bool is_last);

/* Opens a file that is there, to be sent: nobody else writes to it meanwhile. -EBUSY: somebody
 * does; -EBADMSG: it is no spool. */
int mlflow_spool_open(struct mlflow_spool *s, const char *path);

/* Calls visit with every operation from *at on, and moves *at behind those for which it returned 0;
 * otherwise it stops there and returns that. 0 at the end; -EBADMSG where the file makes no sense,
 * or is cut short. */
int mlflow_spool_each(const struct mlflow_spool *s, uint64_t *at,
                      int (*visit)(void *arg, const struct mlflow_op *op), void *arg);

/* All of it has been sent: the file is gone. */
void mlflow_spool_remove(struct mlflow_spool *s);

/* The file stays when something is in it. */
void mlflow_spool_done(struct mlflow_spool *s);
