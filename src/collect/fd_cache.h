/* SPDX-License-Identifier: MIT
 * Descriptors kept open from one tick to the next, within the limit of the process. Opening a file
 * of /proc costs as much as reading it, so the processes that change keep theirs; when room is
 * short, those that changed least recently give theirs up and are opened anew when needed. */
#pragma once

#include "base/util.h"

enum kept_file { KEPT_STAT, KEPT_IO, KEPT_CHILDREN, KEPT_STATUS, KEPT_FILES };

/* The descriptors of one process, a link of the list from most to least recently changed. */
struct kept_fds {
    struct kept_fds *newer, *older;
    int fds[KEPT_FILES]; /* -1 = not open */
    unsigned count;
};

struct fd_cache {
    struct kept_fds *newest, *oldest;
    unsigned used;
    unsigned limit;
};

/* limit: how many descriptors may be kept in all; 0 keeps none. */
void fd_cache_init(struct fd_cache *c, unsigned limit);

void kept_fds_init(struct kept_fds *k);

/* Whether a file of this process may be kept. A changed process makes room at the cost of those
 * that changed longer ago; another one only takes what is free. */
bool fd_cache_admits(struct fd_cache *c, struct kept_fds *k, bool changed);

/* Takes the descriptor. */
void fd_cache_keep(struct fd_cache *c, struct kept_fds *k, enum kept_file file, int fd);

/* The process changed: it is now the last to lose its descriptors. */
void fd_cache_touch(struct fd_cache *c, struct kept_fds *k);

/* Close what is kept of a process. */
void fd_cache_drop(struct fd_cache *c, struct kept_fds *k);

/* The process ran out of descriptors all the same: keep less from now on. */
void fd_cache_shrink(struct fd_cache *c);
