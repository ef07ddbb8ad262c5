/* SPDX-License-Identifier: MIT */
#include "collect/drm_vendor.h"

#include <stdio.h>

bool drm_vendor_is_likely(const struct drm_vendor_table *t, const struct sysroot *root)
{
    struct drm_cards cards;
    if (drm_cards_find(&cards, root, t->drivers) < 0)
        return false;
    drm_cards_done(&cards);
    return true;
}

/* unique_id and product_name are AMD's; who has none is called by its PCI number. */
static void learn_facts(struct drm_vendor *v, size_t i)
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
        learn_facts(v, i);
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

static void read_device(struct drm_vendor *v, size_t i, struct gpu_device *d)
{
    const struct drm_card *card = &v->cards.items[i];
    d->facts = v->facts[i];
    d->is_lost = drm_card_is_gone(card, v->root);
    if (d->is_lost)
        return;
    d->tells = drm_clients_tell(&v->clients);
    if (!drm_card_is_asleep(card, v->root))
        drm_figures_read(&v->figures[i], v->root, &d->row);
}

static void tell_denied(struct drm_vendor *v, struct gpu_trouble *trouble)
{
    if (!v->clients.denied || v->has_told_denied)
        return;
    v->has_told_denied = true;
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "what process %d has of %s GPUs cannot be read: run toll as the user of that process, "
             "or as root",
             (int)v->clients.denied, v->people);
}

unsigned drm_vendor_read(struct drm_vendor *v, struct gpu_frame *f, const pid_t *pids,
                         size_t pid_count, uint64_t now_ns, struct gpu_trouble *trouble)
{
    unsigned first = (unsigned)f->device_count;
    drm_clients_read(&v->clients, v->root, &v->cards, pids, pid_count, now_ns);
    for (size_t i = 0; i < v->cards.count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d)
            return first;
        read_device(v, i, d);
    }
    drm_clients_put(&v->clients, f, first);
    tell_denied(v, trouble);
    return first;
}
