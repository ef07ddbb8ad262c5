/* SPDX-License-Identifier: MIT
 * Which GPUs are meant: all, none, those that the environment leaves visible, or named ones. */
#pragma once

#include "base/text/buf.h"
#include "source/gpu/vendor.h"

struct gpu_choice {
    enum { GPUS_VISIBLE, GPUS_ALL, GPUS_NONE, GPUS_NAMED } kind;
    bool is_asked; /* somebody wants them, and is to be told when there are none */
    char *names;   /* owned, with commas between; of GPUS_NAMED */

    /* Owned; of GPUS_VISIBLE: what the environment says, NULL: nothing. CUDA_VISIBLE_DEVICES,
     * ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK … */
    char *cuda, *rocr, *hip, *ze;
    /* … and what counts as the machine does: NVIDIA_VISIBLE_DEVICES and SLURM_JOB_GPUS. */
    char *nvidia_of_host, *slurm;
};

/* text NULL: those that are visible, unasked. The environment is read here. 0, or -EINVAL and a
 * sentence, or -ENOMEM. */
int gpu_choice_parse(struct gpu_choice *ret, const char *text, struct toll_error *e);
void gpu_choice_done(struct gpu_choice *c);

/* Whether that device is meant, of all there are: a list may count them, or count those of the
 * whole machine where only some are here. */
bool gpu_choice_has(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                    const struct gpu_facts *f);

/* Whether every name is one of a device. -EINVAL and a sentence that lists them when not. */
int gpu_choice_check(const struct gpu_choice *c, const struct gpu_device *devices, size_t count,
                     struct toll_error *e);

/* Whether a device that is not among these may be meant as well. */
bool gpu_choice_awaits(const struct gpu_choice *c, const struct gpu_device *devices, size_t count);
