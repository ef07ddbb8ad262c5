/* SPDX-License-Identifier: MIT
 * Which GPUs are read: all, none, those that the environment leaves visible, or named ones. */
#pragma once

#include "base/text/buf.h"
#include "source/gpu/vendor.h"

struct gpu_choice {
    enum { GPUS_VISIBLE, GPUS_ALL, GPUS_NONE, GPUS_NAMED } kind;
    bool is_asked; /* the user asked for GPUs: report it when there are none */
    char *names;   /* owned, comma-separated; of GPUS_NAMED */

    /* Of GPUS_VISIBLE: values of the environment, owned, or NULL. The first four count the GPUs
     * that a runtime sees, the last two those of the whole machine. */
    char *cuda;           /* CUDA_VISIBLE_DEVICES */
    char *rocr;           /* ROCR_VISIBLE_DEVICES */
    char *hip;            /* HIP_VISIBLE_DEVICES */
    char *ze;             /* ZE_AFFINITY_MASK */
    char *nvidia_of_host; /* NVIDIA_VISIBLE_DEVICES */
    char *slurm;          /* SLURM_JOB_GPUS */
};

/* Reads the environment where it is needed. text NULL: those that are visible, and the user did not
 * ask for them. 0; -EINVAL and a message, or -ENOMEM. */
int gpu_choice_parse(struct gpu_choice *ret, const char *text, struct toll_error *e);
void gpu_choice_done(struct gpu_choice *c);

/* Whether f is chosen. All devices are needed for that: a list may count them, or count those of
 * the whole machine where only some are here. */
bool gpu_choice_has(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                    const struct gpu_facts *f);

/* Checks that every name is that of a device. -EINVAL and a message that lists them when not. */
int gpu_choice_check(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                     struct toll_error *e);

/* Whether a device that is not among these may be chosen as well. */
bool gpu_choice_awaits(const struct gpu_choice *c, const struct gpu_device *devices, size_t count);
