/* SPDX-License-Identifier: MIT
 * Who has graphics cards open, and what they have used of them, as /proc/PID/fdinfo tells.
 *
 * A client is one opening of a card. Its descriptor may be there several times, in a process and in
 * others that inherited it or were handed it: each client counts once, for the process that was
 * seen to have it first and still has it. What a client uses is booked with the process that has it
 * at the time, and stays there when the client is closed. A value that steps back, which drivers
 * are allowed for a moment, changes nothing until it has caught up. */
#pragma once

#include "collect/drm_cards.h"
#include "collect/gpu_vendor.h"
#include "parse/drm_fdinfo.h"

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
