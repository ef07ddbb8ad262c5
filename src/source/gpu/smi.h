/* SPDX-License-Identifier: MIT
 * What nvidia-smi tells of the processes on NVIDIA's GPUs. */
#pragma once

#include "metric/frame.h"
#include "source/gpu/pids.h"
#include "source/gpu/smi_command.h"

/* ==== Nvidia smi processes ==================================================================== */

enum { NVIDIA_SMI_MS = 5000 }; /* a command that takes longer is ended */

#define NVIDIA_SMI_FORMAT "--format=csv,noheader,nounits"

/* Adds the processes of the devices in the frame, which are all of this vendor, and says of which
 * of them all processes are known. */
void nvidia_smi_processes_read(struct smi_command *command, struct gpu_pids *pids,
                               struct gpu_frame *f);

/* ==== Smi figures ============================================================================= */

/* Figures of a GPU out of a line of a table that a command printed. */

struct smi_figure {
    const char *columns; /* names, with | between */
    enum metric_id id;
    double unit; /* of the number, in what the metric is held in */
};

/* What is no number, or cannot be true, stays unknown. */
void smi_figures_put(struct row *row, const struct smi_cells *heading,
                     const struct smi_cells *cells, const struct smi_figure *table, size_t count);
