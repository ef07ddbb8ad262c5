/* SPDX-License-Identifier: MIT
 *
 * /sys/class/drm/card0/device/uevent                  DRIVER=amdgpu …
 * /sys/class/drm/card0/device/hwmon/hwmon3/name       amdgpu
 * /sys/class/drm/card0/device/power/runtime_status    active, suspended, …
 * /sys/class/drm/card0-DP-1                           a plug of it
 * /sys/class/drm/renderD128                           the same card once more
 */
#include "collect/drm_cards.h"

#include "base/file.h"
#include "base/util.h"
#include "collect/number_file.h"
#include "parse/uevent.h"

#include <fcntl.h>
#include <stdio.h>

struct search {
    struct drm_cards *cards;
    const struct sysroot *root;
    const char *const *drivers;
    bool failed;
};

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static void lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text + 'a' - 'A');
}

static bool read_uevent(struct drm_card *c, const struct sysroot *root)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "%s/device/uevent", c->folder);
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    struct scan s = scan_text(text, n > 0 ? (size_t)n : 0);
    if (parse_uevent(s, "DRIVER", c->driver, sizeof c->driver) < 0 ||
        parse_uevent(s, "PCI_SLOT_NAME", c->pci, sizeof c->pci) < 0)
        return false;
    if (parse_uevent(s, "PCI_ID", c->pci_id, sizeof c->pci_id) < 0)
        *c->pci_id = '\0';
    lower(c->pci);
    lower(c->pci_id);
    return true;
}

struct hwmon_search {
    struct drm_card *card;
    const struct sysroot *root;
};

/* i915_gt0 is a part of a card: the one that is called as the driver is the whole. */
static void visit_hwmon(void *arg, const char *entry)
{
    struct hwmon_search *s = arg;
    char folder[96], name[32];
    int length = snprintf(folder, sizeof folder, "%s/device/hwmon/%s", s->card->folder, entry);
    if (*s->card->hwmon || length >= (int)sizeof folder ||
        number_file_read_word(s->root, folder, "name", name, sizeof name) < 0 ||
        strcmp(name, s->card->driver) != 0)
        return;
    memcpy(s->card->hwmon, folder, sizeof folder);
}

static void find_hwmon(struct drm_card *c, const struct sysroot *root)
{
    char path[64];
    snprintf(path, sizeof path, "%s/device/hwmon", c->folder);
    CLEANUP_CLOSE int dir = openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, visit_hwmon, &(struct hwmon_search){c, root});
}

static void visit_card(void *arg, const char *name)
{
    struct search *s = arg;
    struct scan rest = scan_string(name);
    uint64_t number;
    struct drm_card c = {0};
    if (!scan_word(&rest, "card") || !scan_u64(&rest, &number) || !scan_done(&rest) ||
        snprintf(c.folder, sizeof c.folder, "class/drm/%s", name) >= (int)sizeof c.folder ||
        !read_uevent(&c, s->root) || !is_one_of(c.driver, s->drivers) ||
        drm_cards_at(s->cards, c.pci))
        return;
    find_hwmon(&c, s->root);
    struct drm_card *items = reallocarray(s->cards->items, s->cards->count + 1, sizeof *items);
    s->failed |= !items;
    if (!items)
        return;
    s->cards->items = items;
    items[s->cards->count++] = c;
}

static int compare_pci(const void *a, const void *b)
{
    return strcmp(((const struct drm_card *)a)->pci, ((const struct drm_card *)b)->pci);
}

int drm_cards_find(struct drm_cards *ret, const struct sysroot *root, const char *const *drivers)
{
    struct drm_cards cards = {0};
    struct search s = {&cards, root, drivers, false};
    CLEANUP_CLOSE int dir =
        root->sys < 0 ? -1 : openat(root->sys, "class/drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        s.failed |= file_each_entry_sorted(dir, visit_card, &s) == -ENOMEM;
    if (s.failed || !cards.count) {
        drm_cards_done(&cards);
        return s.failed ? -ENOMEM : -ENODEV;
    }
    qsort(cards.items, cards.count, sizeof *cards.items, compare_pci);
    *ret = cards;
    return 0;
}

void drm_cards_done(struct drm_cards *c)
{
    free(c->items);
    *c = (struct drm_cards){0};
}

const struct drm_card *drm_cards_at(const struct drm_cards *c, const char *pci)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i].pci, pci) == 0)
            return &c->items[i];
    return NULL;
}

bool drm_card_is_gone(const struct drm_card *c, const struct sysroot *root)
{
    char path[64];
    snprintf(path, sizeof path, "%s/device/uevent", c->folder);
    return faccessat(root->sys, path, F_OK, 0) < 0 && (errno == ENOENT || errno == ENODEV);
}

bool drm_card_is_asleep(const struct drm_card *c, const struct sysroot *root)
{
    char folder[64], status[16];
    snprintf(folder, sizeof folder, "%s/device/power", c->folder);
    if (number_file_read_word(root, folder, "runtime_status", status, sizeof status) < 0)
        return false;
    return strcmp(status, "suspended") == 0 || strcmp(status, "suspending") == 0;
}
