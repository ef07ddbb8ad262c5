/* SPDX-License-Identifier: MIT */
#include "base/rank.h"

#include "base/scan.h"
#include "base/util.h"

#include <stdio.h>

/* The innermost launcher first: under one that was itself started by Slurm, the variables of Slurm
 * are the daemon's. A word as common as RANK counts only beside another of the same launcher. */
static const struct {
    const char *rank;
    const char *beside; /* has to be there too, or NULL */
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
