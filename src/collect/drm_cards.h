/* SPDX-License-Identifier: MIT
 * The graphics cards below /sys/class/drm. */
#pragma once

#include "base/sysroot.h"

#include <stddef.h>

struct drm_card {
    char folder[32]; /* class/drm/card0, below /sys */
    char hwmon[96];  /* its sensors, below /sys; "" when it has none */
    char driver[24]; /* amdgpu, i915, xe */
    char pci[24];    /* 0000:03:00.0, lower case */
    char pci_id[16]; /* 1002:73bf: who made it, and what it is */
};

struct drm_cards {
    struct drm_card *items; /* owned; in the order of PCI addresses, which stays */
    size_t count;
};

/* Those of the drivers, NULL behind the last. 0; -ENODEV when there is none, or -ENOMEM. */
int drm_cards_find(struct drm_cards *ret, const struct sysroot *root, const char *const *drivers);
void drm_cards_done(struct drm_cards *c);

/* The card at that address, or NULL. */
const struct drm_card *drm_cards_at(const struct drm_cards *c, const char *pci);

/* It was taken out, or fell off the bus. */
bool drm_card_is_gone(const struct drm_card *c, const struct sysroot *root);

/* It sleeps: most of its files would wake it up. */
bool drm_card_is_asleep(const struct drm_card *c, const struct sysroot *root);
