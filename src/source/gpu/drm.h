/* SPDX-License-Identifier: MIT
 * GPUs whose driver shows its figures in files: cards in /sys/class/drm, and their clients in
 * /proc/PID/fdinfo. AMD and Intel have this in common. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "metric/frame.h"
#include "source/gpu/vendor.h"
#include "source/kernel_file.h"

/* ==== Drm cards =============================================================================== */

/* The graphics cards below /sys/class/drm. */

struct drm_card {
    char folder[32]; /* class/drm/card0, below /sys */
    char hwmon[96];  /* its sensors, below /sys; "" when it has none */
    char driver[24]; /* amdgpu, i915, xe */
    char pci[24];    /* 0000:03:00.0, lower case */
    char pci_id[16]; /* 1002:73bf: vendor and device */
};

struct drm_cards {
    struct drm_card *items; /* owned; in the order of PCI addresses, which stays */
    size_t count;
};

/* Finds the cards of these drivers (NULL-terminated). 0; -ENODEV when there is none, or -ENOMEM. */
int drm_cards_find(struct drm_cards *ret, const struct sysroot *root, const char *const *drivers);
void drm_cards_done(struct drm_cards *c);

/* The card at that address, or NULL. */
const struct drm_card *drm_cards_at(const struct drm_cards *c, const char *pci);

/* Whether the card was taken out, or fell off the bus. */
bool drm_card_is_gone(const struct drm_card *c, const struct sysroot *root);

/* Whether the card sleeps: reading most of its files would wake it up. */
bool drm_card_is_asleep(const struct drm_card *c, const struct sysroot *root);

/* PCI addresses in lower case, as files of the kernel differ. */
void drm_lower(char *text);

/* ==== Drm figures ============================================================================= */

/* Figures of a graphics card in files with one number each, by a table of the vendor. */

enum drm_folder { DRM_CARD, DRM_DEVICE, DRM_HWMON };

enum { DRM_FIGURE_FILES = 3, DRM_FIGURES = 12 };

struct drm_figure {
    enum metric_id id; /* of a GPU */
    enum drm_folder folder;
    const char *files[DRM_FIGURE_FILES]; /* the first that exists is read */
    double unit;                         /* factor from the number to the metric */
};

struct drm_figures {
    const struct drm_figure *table; /* borrowed */
    size_t count;
    struct number_file files[DRM_FIGURES];
    bool is_there[DRM_FIGURES];
};

/* Finds the files of the figures. The table has at most DRM_FIGURES rows. */
void drm_figures_init(struct drm_figures *f, const struct drm_figure *table, size_t count,
                      const struct drm_card *card, const struct sysroot *root);
void drm_figures_done(struct drm_figures *f);

/* A figure that cannot be read, or is impossible, stays unknown. */
void drm_figures_read(struct drm_figures *f, const struct sysroot *root, struct row *row);

/* ==== Drm fdinfo ============================================================================== */

/* /proc/PID/fdinfo/FD of an open GPU: usage of this client of the driver so far. */

enum { DRM_NAME_BYTES = 24, DRM_ENGINES = 16, DRM_REGIONS = 16 };

/* An engine, or several of a kind. A driver reports either its time or its cycles. */
struct drm_engine {
    char name[DRM_NAME_BYTES]; /* gfx, render, rcs, … */
    bool has_busy, has_cycles, has_total;
    uint64_t busy_ns;
    uint64_t cycles;       /* that it worked for this client */
    uint64_t total_cycles; /* that have gone by */
    uint64_t capacity;     /* the number of engines of the kind */
};

struct drm_region {
    char name[DRM_NAME_BYTES]; /* vram, local0, system0, gtt, … */
    bool has_total, has_resident;
    uint64_t total_bytes;    /* allocated there or elsewhere */
    uint64_t resident_bytes; /* there now */
};

struct drm_fdinfo {
    char driver[DRM_NAME_BYTES]; /* amdgpu, i915, xe */
    char pci[DRM_NAME_BYTES];    /* 0000:03:00.0, lower case, or "" */
    uint64_t client;             /* number of this opening of the device */
    struct drm_engine engines[DRM_ENGINES];
    unsigned engine_count;
    struct drm_region regions[DRM_REGIONS];
    unsigned region_count;
};

/* 0; -ENODATA when it is not the file of a GPU, or the driver does not number its clients; -EBADMSG
 * when a value is malformed. Engines and regions beyond the limits are left out. */
int parse_drm_fdinfo(struct scan text, struct drm_fdinfo *ret);

/* Memory of the client on the card, or of the machine where the GPU has none of its own. False when
 * the driver does not report it. */
bool drm_fdinfo_memory(const struct drm_fdinfo *d, uint64_t *ret_bytes);

/* ==== Drm clients ============================================================================= */

/* The processes that have graphics cards open, and what they have used of them.
 *
 * A client is one opening of a card. Several descriptors may refer to it, in one process and in
 * others that inherited or received it: each client counts once, for the process that was seen to
 * have it first and still has it. What a client uses is charged to the process that has it at the
 * time, and stays there when the client is closed. Drivers may step back for a moment: such a value
 * changes nothing until it has caught up. */

/* A process on a card, over all its clients. */
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
    bool has_memory;  /* it is known of every client */
    bool has_busy;    /* engine time is known of every client */
    bool was_here;    /* in the round before: what it did since then is known */
    unsigned clients; /* that it has now */
};

struct drm_client;

/* The length of a cycle of a card, 0 when it is not known yet, and the time it was measured over.
 */
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
    uint64_t before_ns; /* when the last round was; 0: never */
    uint64_t interval_ns;
    pid_t denied; /* a process whose files could not be read in this round, or 0 */
    uint64_t round;
};

/* 0 or -ENOMEM. */
int drm_clients_init(struct drm_clients *c, size_t cards);
void drm_clients_done(struct drm_clients *c);

/* Reads the descriptors of the processes. Those that are not in the list any more are forgotten. */
void drm_clients_read(struct drm_clients *c, const struct sysroot *root,
                      const struct drm_cards *cards, const pid_t *pids, size_t pid_count,
                      uint64_t now_ns);

/* Adds the users to the frame, in which the first card is device `first`. */
void drm_clients_put(const struct drm_clients *c, struct gpu_frame *f, unsigned first);

/* ==== Drm vendor ============================================================================== */

struct drm_vendor {
    const struct sysroot *root; /* borrowed */
    const char *word;           /* amd, intel */
    const char *people;         /* AMD, Intel: in sentences */
    struct drm_cards cards;
    struct gpu_facts *facts;     /* owned, of each card */
    struct drm_figures *figures; /* owned, of each card */
    struct drm_clients clients;
    bool denied_said;
};

/* The drivers (NULL-terminated), and where their figures are. */
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

/* Adds the cards, with figures unless they sleep, and the processes. Returns the index of the first
 * card in the frame. */
unsigned drm_vendor_read(struct drm_vendor *v, struct gpu_frame *f, const pid_t *pids,
                         size_t pid_count, uint64_t now_ns, struct gpu_trouble *trouble);

/* ==== Uevent ================================================================================== */

/* A file uevent of /sys, which identifies a device by lines KEY=value. */

/* Writes the value of the key to ret. 0; -ENODATA when it is not there; -EBADMSG when it is empty,
 * does not fit, or has control characters. */
int parse_uevent(struct scan text, const char *key, char *ret, size_t capacity);
