/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/kernel_file.h"

#include <fcntl.h>
#include <stdio.h>

/* ==== Drm figures ============================================================================= */

void drm_figures_init(struct drm_figures *f, const struct drm_figure *table, size_t count,
                      const struct drm_card *card, const struct sysroot *root)
{
    *f = (struct drm_figures){.table = table, .count = count};
    for (size_t i = 0; i < count; i++) {
        const struct drm_figure *figure = &table[i];
        const char *path = figure->folder == DRM_HWMON ? card->hwmon : card->folder;
        char folder[128];
        snprintf(folder, sizeof folder, "%s%s", path,
                 figure->folder == DRM_DEVICE ? "/device" : "");
        for (unsigned n = 0; *path && n < DRM_FIGURE_FILES && figure->files[n]; n++)
            if (!f->is_there[i] && number_file_init(&f->files[i], folder, figure->files[n]) == 0)
                f->is_there[i] = faccessat(root->sys, f->files[i].path, R_OK, 0) == 0;
        f->files[i].fd = -1;
    }
}

void drm_figures_done(struct drm_figures *f)
{
    for (size_t i = 0; i < f->count; i++)
        number_file_done(&f->files[i]);
}

static void drm_figures_put(struct row *row, const struct drm_figure *figure, int64_t number)
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
            drm_figures_put(row, &f->table[i], number);
    }
}

/* ==== Uevent ================================================================================== */

/* DRIVER=amdgpu
 * PCI_CLASS=30000
 * PCI_ID=1002:73BF
 * PCI_SLOT_NAME=0000:03:00.0
 *
 * A last line without its newline was cut short and is not there. */

int parse_uevent(struct scan text, const char *key, char *ret, size_t capacity)
{
    struct scan line;
    while (scan_line(&text, &line) && line.end < text.at) {
        if (!scan_word(&line, key) || !scan_word(&line, "="))
            continue;
        size_t length = (size_t)(line.end - line.at);
        if (!length || length >= capacity)
            return -EBADMSG;
        for (const char *c = line.at; c < line.end; c++)
            if ((unsigned char)*c < ' ' || *c == 127)
                return -EBADMSG;
        memcpy(ret, line.at, length);
        ret[length] = '\0';
        return 0;
    }
    return -ENODATA;
}

/* ==== Drm cards =============================================================================== */

/* /sys/class/drm/card0/device/uevent                  DRIVER=amdgpu …
 * /sys/class/drm/card0/device/hwmon/hwmon3/name       amdgpu
 * /sys/class/drm/card0/device/power/runtime_status    active, suspended, …
 * /sys/class/drm/card0-DP-1                           a plug of it
 * /sys/class/drm/renderD128                           the same card once more */

struct drm_card_search {
    struct drm_cards *cards;
    const struct sysroot *root;
    const char *const *drivers;
    bool failed;
};

void drm_lower(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text + 'a' - 'A');
}

static bool drm_card_read_uevent(struct drm_card *c, const struct sysroot *root)
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
    drm_lower(c->pci);
    drm_lower(c->pci_id);
    return true;
}

struct drm_hwmon_search {
    struct drm_card *card;
    const struct sysroot *root;
};

/* The sensors of the whole card are named after its driver; i915_gt0 is a part of a card. */
static void drm_card_visit_hwmon(void *arg, const char *entry)
{
    struct drm_hwmon_search *s = arg;
    char folder[96], name[32];
    int length = snprintf(folder, sizeof folder, "%s/device/hwmon/%s", s->card->folder, entry);
    if (*s->card->hwmon || length >= (int)sizeof folder ||
        number_file_read_word(s->root, folder, "name", name, sizeof name) < 0 ||
        strcmp(name, s->card->driver) != 0)
        return;
    memcpy(s->card->hwmon, folder, sizeof folder);
}

static void drm_cards_visit(void *arg, const char *name)
{
    struct drm_card_search *s = arg;
    struct scan rest = scan_string(name);
    uint64_t number;
    struct drm_card c = {0};
    if (!scan_word(&rest, "card") || !scan_u64(&rest, &number) || !scan_done(&rest) ||
        snprintf(c.folder, sizeof c.folder, "class/drm/%s", name) >= (int)sizeof c.folder ||
        !drm_card_read_uevent(&c, s->root) || drm_cards_at(s->cards, c.pci))
        return;
    const char *const *driver = s->drivers;
    while (*driver && strcmp(c.driver, *driver) != 0)
        driver++;
    if (!*driver)
        return;
    char path[64];
    snprintf(path, sizeof path, "%s/device/hwmon", c.folder);
    CLEANUP_CLOSE int dir = openat(s->root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        file_each_entry_sorted(dir, drm_card_visit_hwmon, &(struct drm_hwmon_search){&c, s->root});
    if (ARRAY_GROW(s->cards->items, s->cards->count))
        s->cards->items[s->cards->count++] = c;
    else
        s->failed = true;
}

static int drm_card_compare_pci(const void *a, const void *b)
{
    return strcmp(((const struct drm_card *)a)->pci, ((const struct drm_card *)b)->pci);
}

int drm_cards_find(struct drm_cards *ret, const struct sysroot *root, const char *const *drivers)
{
    struct drm_cards cards = {0};
    struct drm_card_search s = {&cards, root, drivers, false};
    CLEANUP_CLOSE int dir =
        root->sys < 0 ? -1 : openat(root->sys, "class/drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0)
        s.failed |= file_each_entry_sorted(dir, drm_cards_visit, &s) == -ENOMEM;
    if (s.failed || !cards.count) {
        drm_cards_done(&cards);
        return s.failed ? -ENOMEM : -ENODEV;
    }
    qsort(cards.items, cards.count, sizeof *cards.items, drm_card_compare_pci);
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

/* ==== Drm vendor ============================================================================== */

bool drm_vendor_is_likely(const struct drm_vendor_table *t, const struct sysroot *root)
{
    struct drm_cards cards;
    if (drm_cards_find(&cards, root, t->drivers) < 0)
        return false;
    drm_cards_done(&cards);
    return true;
}

/* unique_id and product_name are AMD's. A card without a name gets one from its PCI id. */
static void drm_vendor_learn_facts(struct drm_vendor *v, size_t i)
{
    const struct drm_card *card = &v->cards.items[i];
    struct gpu_facts *f = &v->facts[i];
    char folder[64];
    snprintf(folder, sizeof folder, "%s/device", card->folder);
    *f = (struct gpu_facts){.index = (unsigned)i, .vendor = v->word};
    memcpy(f->pci, card->pci, sizeof card->pci);
    if (number_file_read_word(v->root, folder, "unique_id", f->uuid, sizeof f->uuid) < 0)
        *f->uuid = '\0';
    if (number_file_read_word(v->root, folder, "product_name", f->name, sizeof f->name) < 0)
        snprintf(f->name, sizeof f->name, "%s GPU%s%s", v->people, *card->pci_id ? " " : "",
                 card->pci_id);
}

int drm_vendor_open(struct drm_vendor *v, const struct drm_vendor_table *t,
                    const struct sysroot *root)
{
    *v = (struct drm_vendor){.root = root, .word = t->word, .people = t->people};
    int r = drm_cards_find(&v->cards, root, t->drivers);
    if (r < 0)
        return r;
    v->facts = calloc(v->cards.count, sizeof *v->facts);
    v->figures = calloc(v->cards.count, sizeof *v->figures);
    if (!v->facts || !v->figures || drm_clients_init(&v->clients, v->cards.count) < 0) {
        drm_vendor_close(v);
        return -ENOMEM;
    }
    for (size_t i = 0; i < v->cards.count; i++) {
        drm_vendor_learn_facts(v, i);
        drm_figures_init(&v->figures[i], t->figures, t->figure_count, &v->cards.items[i], root);
    }
    return 0;
}

void drm_vendor_close(struct drm_vendor *v)
{
    for (size_t i = 0; v->figures && i < v->cards.count; i++)
        drm_figures_done(&v->figures[i]);
    free(v->figures);
    free(v->facts);
    drm_clients_done(&v->clients);
    drm_cards_done(&v->cards);
    *v = (struct drm_vendor){0};
}

unsigned drm_vendor_read(struct drm_vendor *v, struct gpu_frame *f, const pid_t *pids,
                         size_t pid_count, uint64_t now_ns, struct gpu_trouble *trouble)
{
    unsigned first = (unsigned)f->device_count;
    drm_clients_read(&v->clients, v->root, &v->cards, pids, pid_count, now_ns);
    for (size_t i = 0; i < v->cards.count; i++) {
        const struct drm_card *card = &v->cards.items[i];
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d)
            return first;
        d->facts = v->facts[i];
        d->is_lost = drm_card_is_gone(card, v->root);
        if (d->is_lost)
            continue;
        if (!v->clients.denied)
            d->lists = GPU_LISTS_MEMORY | GPU_LISTS_SHARE | GPU_LISTS_BUSY;
        if (!drm_card_is_asleep(card, v->root))
            drm_figures_read(&v->figures[i], v->root, &d->row);
    }
    drm_clients_put(&v->clients, f, first);
    if (v->clients.denied && !v->denied_said) {
        v->denied_said = true;
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "cannot read what process %d uses of %s GPUs (run toll as the user of that "
                 "process, or as root)",
                 (int)v->clients.denied, v->people);
    }
    return first;
}
