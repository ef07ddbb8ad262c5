/* SPDX-License-Identifier: MIT
 * A machine with graphics cards, written into a directory, and a vendor that reads it. */
#pragma once

#include "base/util.h"
#include "figures.h"
#include "source/gpu/vendor.h"
#include "tree.h"

struct gpu_tree {
    struct tree tree;
    struct sysroot root;
    struct gpu_context context;
    const struct gpu_vendor *vendor; /* NULL when none is open */
    void *state;
    struct gpu_frame frame;
    struct gpu_trouble trouble; /* the last one */
};

static inline void gpu_tree_make(struct gpu_tree *g)
{
    *g = (struct gpu_tree){.root = SYSROOT_NONE};
    tree_make(&g->tree);
    tree_write(&g->tree, "proc/version", "Linux\n");
    tree_write(&g->tree, "sys/kernel/notes", "\n");
    assert_int_equal(sysroot_open(&g->root, g->tree.path, NULL), 0);
    g->context.root = &g->root;
}

static inline int gpu_tree_open(struct gpu_tree *g, const struct gpu_vendor *vendor)
{
    int r = vendor->open(&g->state, &g->context, &g->trouble);
    g->vendor = r == 0 ? vendor : NULL;
    return r;
}

static inline void gpu_tree_read(struct gpu_tree *g, const pid_t *pids, size_t count)
{
    *g->trouble.sentence = '\0';
    gpu_frame_clear(&g->frame);
    g->vendor->read(g->state, &g->frame, pids, count, &g->trouble);
}

static inline void gpu_tree_remove(struct gpu_tree *g)
{
    if (g->vendor)
        g->vendor->close(g->state);
    gpu_frame_done(&g->frame);
    sysroot_close(&g->root);
    tree_remove(&g->tree);
}

PRINTF_LIKE(3, 4)
static inline void gpu_tree_write(const struct gpu_tree *g, const char *name, const char *text, ...)
{
    char whole[2048];
    va_list args;
    va_start(args, text);
    vsnprintf(whole, sizeof whole, text, args);
    va_end(args);
    tree_write(&g->tree, name, whole);
}

static inline void gpu_tree_card(const struct gpu_tree *g, unsigned number, const char *driver,
                                 const char *pci_id, const char *pci)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/drm/card%u/device/uevent", number);
    gpu_tree_write(g, path, "DRIVER=%s\nPCI_CLASS=30000\nPCI_ID=%s\nPCI_SLOT_NAME=%s\n", driver,
                   pci_id, pci);
}

/* A file of a card: "device/gpu_busy_percent". */
static inline void gpu_tree_card_file(const struct gpu_tree *g, unsigned number, const char *name,
                                      const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/drm/card%u/%s", number, name);
    tree_write(&g->tree, path, text);
}

/* A process with one descriptor that is no card. */
static inline void gpu_tree_process(const struct gpu_tree *g, pid_t pid, unsigned start_ticks)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/stat", (int)pid);
    gpu_tree_write(g, path,
                   "%d (train) S 1 %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 1000 100 "
                   "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
                   (int)pid, (int)pid, (int)pid, start_ticks);
    snprintf(path, sizeof path, "proc/%d/fdinfo/0", (int)pid);
    gpu_tree_write(g, path, "pos:\t0\nflags:\t02\nmnt_id:\t25\n");
}

/* A descriptor of a card: the values are the lines behind the first three. */
static inline void gpu_tree_client(const struct gpu_tree *g, pid_t pid, unsigned fd,
                                   const char *driver, const char *pci, unsigned client,
                                   const char *values)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/fdinfo/%u", (int)pid, fd);
    gpu_tree_write(g, path, "pos:\t0\ndrm-driver:\t%s\ndrm-client-id:\t%u\ndrm-pdev:\t%s\n%s",
                   driver, client, pci, values);
}

static inline const struct gpu_process *gpu_tree_find(const struct gpu_frame *f, unsigned device,
                                                      pid_t pid)
{
    const struct gpu_process *found = NULL;
    for (size_t i = 0; i < f->process_count; i++) {
        if (f->processes[i].device != device || f->processes[i].pid != pid)
            continue;
        assert_null(found); /* nothing is listed twice */
        found = &f->processes[i];
    }
    return found;
}
