/* SPDX-License-Identifier: MIT */
#include "collect/drm_figures.h"

#include <fcntl.h>
#include <stdio.h>

static bool folder_of(const struct drm_card *card, enum drm_folder folder, char ret[128])
{
    const char *path = folder == DRM_HWMON ? card->hwmon : card->folder;
    snprintf(ret, 128, "%s%s", path, folder == DRM_DEVICE ? "/device" : "");
    return *path;
}

static bool find_file(struct number_file *f, const struct drm_figure *figure,
                      const struct drm_card *card, const struct sysroot *root)
{
    char folder[128];
    if (!folder_of(card, figure->folder, folder))
        return false;
    for (unsigned i = 0; i < DRM_FIGURE_FILES && figure->files[i]; i++)
        if (number_file_init(f, folder, figure->files[i]) == 0 &&
            faccessat(root->sys, f->path, R_OK, 0) == 0)
            return true;
    return false;
}

void drm_figures_init(struct drm_figures *f, const struct drm_figure *table, size_t count,
                      const struct drm_card *card, const struct sysroot *root)
{
    *f = (struct drm_figures){.table = table, .count = count};
    for (size_t i = 0; i < count; i++) {
        f->is_there[i] = find_file(&f->files[i], &table[i], card, root);
        f->files[i].fd = -1;
    }
}

void drm_figures_done(struct drm_figures *f)
{
    for (size_t i = 0; i < f->count; i++)
        number_file_done(&f->files[i]);
}

static void put(struct row *row, const struct drm_figure *figure, int64_t number)
{
    const struct metric *m = metric_of(figure->id);
    double value = (double)number * figure->unit;
    if (number < 0 && m->unit != UNIT_celsius)
        return;
    if (m->unit == UNIT_ratio && value > 1)
        return;
    if (metric_is_double(m))
        row_put_double(row, figure->id, value);
    else if (figure->unit == 1) /* a double would lose digits */
        row_put_u64(row, figure->id, (uint64_t)number);
    else if (value < 1e18)
        row_put_u64(row, figure->id, (uint64_t)value);
}

void drm_figures_read(struct drm_figures *f, const struct sysroot *root, struct row *row)
{
    for (size_t i = 0; i < f->count; i++) {
        int64_t number;
        if (f->is_there[i] && number_file_read(&f->files[i], root, &number) == 0)
            put(row, &f->table[i], number);
    }
}
