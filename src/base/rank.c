/* SPDX-License-Identifier: MIT */
#include "base/rank.h"

#include "base/text/scan.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

/* The innermost launcher first: under a launcher that Slurm started, the variables of Slurm are
 * those of its daemon. A name as common as RANK counts only together with another of the launcher.
 */
static const struct {
    const char *rank;
    const char *beside; /* has to be set as well, or NULL */
} launchers[] = {
    {"RANK", "WORLD_SIZE"}, {"OMPI_COMM_WORLD_RANK", NULL}, {"PMIX_RANK", NULL},
    {"PMI_RANK", NULL},     {"PALS_RANKID", NULL},          {"FLUX_TASK_RANK", NULL},
    {"SLURM_PROCID", NULL}, {"JOB_COMPLETION_INDEX", NULL},
};

bool rank_find(char *ret, size_t capacity)
{
    for (size_t i = 0; i < ARRAY_LEN(launchers); i++) {
        const char *text = getenv(launchers[i].rank);
        uint64_t number;
        if (!text || (launchers[i].beside && !getenv(launchers[i].beside)))
            continue;
        struct scan s = scan_string(text);
        if (!scan_u64(&s, &number) || !scan_done(&s) || number > 99999999)
            continue;
        snprintf(ret, capacity, "%llu", (unsigned long long)number);
        return true;
    }
    return false;
}

/* Slurm gives each task of an array its own job id, while squeue prints 1234_5: the id of the array
 * comes first. A name as common as JOB_ID counts only together with another of the same system. */
static const struct {
    const char *id;
    const char *array_index; /* or NULL */
    const char *beside;      /* has to be set as well, or NULL */
    const char *no_array;    /* value of array_index outside an array */
} batch_systems[] = {
    {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", NULL, NULL},
    {"SLURM_JOB_ID", NULL, NULL, NULL},
    {"PBS_JOBID", "PBS_ARRAY_INDEX", NULL, NULL},
    {"LSB_JOBID", "LSB_JOBINDEX", NULL, "0"},
    {"JOB_ID", "SGE_TASK_ID", "SGE_TASK_ID", "undefined"},
    {"FLUX_JOB_ID", NULL, NULL, NULL},
};

/* False when it is empty, too long or not printable. */
static bool batch_job_copy(char ret[BATCH_JOB_BYTES], const char *text)
{
    size_t length = text ? strnlen(text, BATCH_JOB_BYTES) : 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    if (!length || length == BATCH_JOB_BYTES)
        return false;
    memcpy(ret, text, length + 1);
    return true;
}

void batch_job_find(struct batch_job *ret)
{
    *ret = (struct batch_job){0};
    for (size_t i = 0; i < ARRAY_LEN(batch_systems) && !*ret->id; i++) {
        const char *beside = batch_systems[i].beside, *none = batch_systems[i].no_array;
        const char *index = batch_systems[i].array_index;
        if ((beside && !getenv(beside)) || !batch_job_copy(ret->id, getenv(batch_systems[i].id)))
            continue;
        const char *value = index ? getenv(index) : NULL;
        if (value && !(none && strcmp(value, none) == 0))
            batch_job_copy(ret->array_index, value);
    }
}
