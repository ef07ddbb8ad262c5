/* SPDX-License-Identifier: MIT
 * What vendors whose driver tells all of it in files have in common. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "source/gpu/vendor.h"
#include "source/kernel_file.h"

#include <stddef.h>

/* ==== Drm cards =============================================================================== */

/* The graphics cards below /sys/class/drm. */

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

/* ==== Drm figures ============================================================================= */

/* Figures of a graphics card that stand in files with one number each. What is where is a table of
 * the vendor. */

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

/* ==== Drm fdinfo ============================================================================== */

/* /proc/PID/fdinfo/FD of an open GPU: what this client of the driver has used so far. */

enum { DRM_NAME_BYTES = 24, DRM_ENGINES = 16, DRM_REGIONS = 16 };

/* An engine, or several of a kind: either its time is told, or its cycles. */
struct drm_engine {
    char name[DRM_NAME_BYTES]; /* gfx, render, rcs, … */
    bool has_busy, has_cycles, has_total;
    uint64_t busy_ns;
    uint64_t cycles;       /* that it worked for this client … */
    uint64_t total_cycles; /* … and that have gone by */
    uint64_t capacity;     /* how many there are of the kind */
};

struct drm_region {
    char name[DRM_NAME_BYTES]; /* vram, local0, system0, gtt, … */
    bool has_total, has_resident;
    uint64_t total_bytes;    /* allocated there or elsewhere */
    uint64_t resident_bytes; /* there now */
};

struct drm_fdinfo {
    char driver[DRM_NAME_BYTES]; /* amdgpu, i915, xe */
    char pci[DRM_NAME_BYTES];    /* 0000:03:00.0, lower case; "" when it is not told */
    uint64_t client;             /* one for each time the device was opened, of this device */
    struct drm_engine engines[DRM_ENGINES];
    unsigned engine_count;
    struct drm_region regions[DRM_REGIONS];
    unsigned region_count;
};

/* 0; -ENODATA when it is not the file of a GPU, or the driver does not tell clients apart;
 * -EBADMSG when a value is not as expected. Engines and regions beyond the most are left out. */
int parse_drm_fdinfo(struct scan text, struct drm_fdinfo *ret);

/* Memory of the GPU that the client has: that on the card, or of the machine where the GPU has none
 * of its own. False when the driver does not tell. */
bool drm_fdinfo_memory(const struct drm_fdinfo *d, uint64_t *ret_bytes);

/* ==== Drm clients ============================================================================= */

/* Who has graphics cards open, and what they have used of them, as /proc/PID/fdinfo tells.
 *
 * A client is one opening of a card. Its descriptor may be there several times, in a process and in
 * others that inherited it or were handed it: each client counts once, for the process that was
 * seen to have it first and still has it. What a client uses is booked with the process that has it
 * at the time, and stays there when the client is closed. A value that steps back, which drivers
 * are allowed for a moment, changes nothing until it has caught up. */

/* Of one card and process, over all its clients. */
struct drm_user {
    unsigned card; /* its place in the cards */
    pid_t pid;
    uint64_t start_ticks; /* 0 when it is not known */
    struct {
        char name[DRM_NAME_BYTES];
        uint64_t busy_ns, before_ns;
        uint64_t capacity;
    } engines[DRM_ENGINES];
    unsigned engine_count;
    uint64_t memory_bytes;
    bool has_memory;  /* every client tells it */
    bool has_busy;    /* … and its engines in time, or in cycles whose length is known */
    bool was_here;    /* in the round before: what it did since is known */
    unsigned clients; /* now */
};

struct drm_client;

/* How long a cycle of a card is, 0 when it is not known yet, and over what time it was seen. */
struct drm_cycle {
    double length_ns;
    uint64_t window_ns;
};

struct drm_clients {
    struct drm_user *users; /* owned */
    size_t user_count, user_capacity;
    struct drm_client *clients; /* owned */
    size_t client_count, client_capacity;
    struct drm_cycle *cycles; /* owned, of each card */
    size_t cards;
    uint64_t before_ns; /* when the last round was; 0: there was none */
    uint64_t interval_ns;
    pid_t denied; /* of this round: one whose files may not be read, or could not be, or 0 */
    uint64_t round;
};

/* 0 or -ENOMEM. */
int drm_clients_init(struct drm_clients *c, size_t cards);
void drm_clients_done(struct drm_clients *c);

/* Looks at the descriptors of the processes. Of those that are no more in the list, nothing is
 * kept. */
void drm_clients_read(struct drm_clients *c, const struct sysroot *root,
                      const struct drm_cards *cards, const pid_t *pids, size_t pid_count,
                      uint64_t now_ns);

/* What was seen, as processes of the frame, in which the first card is device `first`. */
void drm_clients_put(const struct drm_clients *c, struct gpu_frame *f, unsigned first);

/* GPU_TELLS_… of each card. */
unsigned drm_clients_tell(const struct drm_clients *c);

/* ==== Drm vendor ============================================================================== */

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

/* ==== Uevent ================================================================================== */

/* A file uevent of /sys: who a device is, on lines KEY=value. */

/* The value of the key, as text in ret. 0; -ENODATA when it is not there; -EBADMSG when it is
 * empty, does not fit, or has control characters in it. */
int parse_uevent(struct scan text, const char *key, char *ret, size_t capacity);
