/* SPDX-License-Identifier: MIT
 * What vendors whose driver tells all of it in files have in common. */
#pragma once

#include "collect/drm_clients.h"
#include "collect/drm_figures.h"

struct drm_vendor {
    const struct sysroot *root; /* borrowed */
    const char *word;           /* amd, intel */
    const char *people;         /* AMD, Intel: in sentences */
    struct drm_cards cards;
    struct gpu_facts *facts;     /* owned, of each card */
    struct drm_figures *figures; /* owned, of each card */
    struct drm_clients clients;
    bool has_told_denied;
};

/* The drivers, NULL behind the last, and where their figures are. */
struct drm_vendor_table {
    const char *word, *people;
    const char *const *drivers;
    const struct drm_figure *figures;
    size_t figure_count;
};

bool drm_vendor_is_likely(const struct drm_vendor_table *t, const struct sysroot *root);

/* 0; -ENODEV when there is no such card, or -ENOMEM. */
int drm_vendor_open(struct drm_vendor *v, const struct drm_vendor_table *t,
                    const struct sysroot *root);
void drm_vendor_close(struct drm_vendor *v);

/* Adds the cards, of those that do not sleep with their figures, and the processes. The place of
 * the first card in the frame. */
unsigned drm_vendor_read(struct drm_vendor *v, struct gpu_frame *f, const pid_t *pids,
                         size_t pid_count, uint64_t now_ns, struct gpu_trouble *trouble);
