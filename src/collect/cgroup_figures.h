/* SPDX-License-Identifier: MIT
 * The figures of a cgroup that stand in a file as they are: CPU, memory, tasks, pressure. */
#pragma once

#include "collect/cgroup_file.h"
#include "collect/cgroup_place.h"
#include "metric/frame.h"

enum { CGROUP_FIGURE_FILES = 20 };

struct cgroup_figures {
    struct cgroup_file files[CGROUP_FIGURE_FILES];
    uint64_t ns_per_tick;
};

void cgroup_figures_init(struct cgroup_figures *f, const struct sysroot *root);
void cgroup_figures_close_files(struct cgroup_figures *f);

/* Puts what can be read into the row. */
void cgroup_figures_read(struct cgroup_figures *f, const struct sysroot *root,
                         const struct cgroup_places *places, struct row *row);
