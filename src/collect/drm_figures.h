/* SPDX-License-Identifier: MIT
 * Figures of a graphics card that stand in files with one number each. What is where is a table of
 * the vendor. */
#pragma once

#include "collect/drm_cards.h"
#include "collect/number_file.h"
#include "metric/frame.h"

enum drm_folder { DRM_CARD, DRM_DEVICE, DRM_HWMON };

enum { DRM_FIGURE_FILES = 3, DRM_FIGURES = 12 };

struct drm_figure {
    enum metric_id id; /* of a GPU */
    enum drm_folder folder;
    const char *files[DRM_FIGURE_FILES]; /* the first that is there */
    double unit;                         /* of the number, in what the metric is held in */
};

struct drm_figures {
    const struct drm_figure *table; /* borrowed */
    size_t count;
    struct number_file files[DRM_FIGURES];
    bool is_there[DRM_FIGURES];
};

/* Looks which files there are. No more rows than DRM_FIGURES. */
void drm_figures_init(struct drm_figures *f, const struct drm_figure *table, size_t count,
                      const struct drm_card *card, const struct sysroot *root);
void drm_figures_done(struct drm_figures *f);

/* What cannot be read, or cannot be true, stays unknown. */
void drm_figures_read(struct drm_figures *f, const struct sysroot *root, struct row *row);
