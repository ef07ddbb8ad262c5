/* SPDX-License-Identifier: MIT
 * The place of this process in a parallel job, and its batch job, from environment variables. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

enum { RANK_BYTES = 16, LAUNCH_BYTES = 97, BATCH_JOB_BYTES = 65 };

/* The place of a process among those that one launcher started together. Numbers as text ("0",
 * "17"); "" is unknown. */
struct parallel {
    char rank[RANK_BYTES];       /* "": not in a parallel job */
    char local_rank[RANK_BYTES]; /* among the ranks of its machine */
    char world_size[RANK_BYTES]; /* number of ranks */
    char launcher[RANK_BYTES];   /* "Open MPI" */
    char launch[LAUNCH_BYTES];   /* an id that all ranks of the launch have, and no others */
};

/* False, and all of it empty, when no launcher set a rank. */
bool parallel_find(struct parallel *ret);

/* Whether what all ranks print ends up together, as with MPI; pods have logs of their own. */
bool parallel_shares_terminal(const struct parallel *p);

/* The job of a batch system that this process belongs to. */
struct batch_job {
    char id[BATCH_JOB_BYTES];          /* as its users know it; "" without a batch system */
    char array_index[BATCH_JOB_BYTES]; /* "" outside a job array */
};

void batch_job_find(struct batch_job *ret);

/* Whether a file name has a placeholder such as %r, or %%. Of a URL nothing is replaced. */
bool rank_path_has_placeholder(const char *path);

/* Appends the path with its placeholders replaced: %j job, %r rank, %l local rank, %h host, %p pid,
 * %n name, %t time of start, %% a percent sign. What is put in is one component of a path: slashes,
 * commas and the like become '_'. %j is the id of the batch job, or else of the launch, or else
 * "nojob"; without a launcher %r and %l are 0. -EINVAL and a sentence for an unknown placeholder,
 * and for %l in a launcher that sets none. */
int rank_put_path(struct buf *b, const char *path, const char *name, uint64_t start_real_ns,
                  struct toll_error *e);

/* ==== Records of one job ====================================================================== */

/* A run of a record, to find those of the same job. Texts are borrowed, and "" when unknown. */
struct rank_run {
    const char *rank, *launch, *job_id, *array_index, *world_size, *name;
    uint64_t start_ns, end_ns; /* since 1970 */
    size_t number;             /* set by rank_group: runs of one job have the same */
    size_t cluster, group;     /* private */
};

/* Numbers runs by their jobs: ranks of one launch, which started and ended at about the same time.
 * A run without a rank is a job of its own. 0 or -ENOMEM. */
int rank_group(struct rank_run *runs, size_t count);
