/* SPDX-License-Identifier: MIT */
#include "collect/fd_cache.h"

void fd_cache_init(struct fd_cache *c, unsigned limit)
{
    *c = (struct fd_cache){.limit = limit};
}

void kept_fds_init(struct kept_fds *k)
{
    *k = (struct kept_fds){0};
    for (unsigned i = 0; i < KEPT_FILES; i++)
        k->fds[i] = -1;
}

static void unlink_entry(struct fd_cache *c, struct kept_fds *k)
{
    *(k->newer ? &k->newer->older : &c->newest) = k->older;
    *(k->older ? &k->older->newer : &c->oldest) = k->newer;
    k->newer = k->older = NULL;
}

static void link_newest(struct fd_cache *c, struct kept_fds *k)
{
    k->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = k;
    c->newest = k;
}

void fd_cache_drop(struct fd_cache *c, struct kept_fds *k)
{
    if (!k->count)
        return;
    unlink_entry(c, k);
    for (unsigned i = 0; i < KEPT_FILES; i++) {
        if (k->fds[i] >= 0)
            close(k->fds[i]);
        k->fds[i] = -1;
    }
    c->used -= k->count;
    k->count = 0;
}

bool fd_cache_admits(struct fd_cache *c, struct kept_fds *k, bool changed)
{
    if (c->used < c->limit)
        return true;
    if (!changed || !c->oldest || c->oldest == k)
        return false;
    fd_cache_drop(c, c->oldest);
    return c->used < c->limit;
}

void fd_cache_keep(struct fd_cache *c, struct kept_fds *k, enum kept_file file, int fd)
{
    if (!k->count)
        link_newest(c, k);
    k->fds[file] = fd;
    k->count++;
    c->used++;
}

void fd_cache_touch(struct fd_cache *c, struct kept_fds *k)
{
    if (!k->count || c->newest == k)
        return;
    unlink_entry(c, k);
    link_newest(c, k);
}

void fd_cache_shrink(struct fd_cache *c)
{
    c->limit = c->used / 2;
    while (c->used > c->limit && c->oldest)
        fd_cache_drop(c, c->oldest);
}
