/* SPDX-License-Identifier: MIT
 * The rank of this process in a parallel job and its batch job, from environment variables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The rank as text ("0", "17"); false when no launcher set one. */
bool rank_find(char *ret, size_t capacity);

enum { BATCH_JOB_BYTES = 65 };

/* The job of a batch system that this process belongs to. */
struct batch_job {
    char id[BATCH_JOB_BYTES];          /* as its users know it; "" without a batch system */
    char array_index[BATCH_JOB_BYTES]; /* "" outside a job array */
};

void batch_job_find(struct batch_job *ret);
