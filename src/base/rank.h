/* SPDX-License-Identifier: MIT
 * Who this process is in a parallel job, by what its launcher put into the environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The rank as text ("0", "17"); false when nothing launched us that has ranks. */
bool rank_find(char *ret, size_t capacity);

enum { BATCH_JOB_BYTES = 65 };

/* The job of a batch system that this process belongs to. */
struct batch_job {
    char id[BATCH_JOB_BYTES];          /* as its users know it, "": there is none … */
    char array_index[BATCH_JOB_BYTES]; /* … and which of a job array it is, "": of none */
};

/* Both are "" where no batch system started us. */
void batch_job_find(struct batch_job *ret);
