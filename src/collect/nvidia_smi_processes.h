/* SPDX-License-Identifier: MIT
 * What nvidia-smi tells of the processes on NVIDIA's GPUs. */
#pragma once

#include "collect/gpu_pids.h"
#include "collect/smi_command.h"

enum { NVIDIA_SMI_MS = 5000 }; /* a command that takes longer is ended */

#define NVIDIA_SMI_FORMAT "--format=csv,noheader,nounits"

/* Adds the processes of the devices in the frame, which are all of this vendor, and says of which
 * of them all processes are known. */
void nvidia_smi_processes_read(struct smi_command *command, struct gpu_pids *pids,
                               struct gpu_frame *f);
