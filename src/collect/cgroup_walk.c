/* SPDX-License-Identifier: MIT */
#include "collect/cgroup_walk.h"

#include "base/file.h"
#include "base/util.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { MOST_LEVELS = 32 }; /* each takes a buffer of the stack */

struct level {
    int dir;
    unsigned depth;
    void (*visit)(void *arg, int dir);
    void *arg;
};

/* A directory has a link for each one in it beside its own two; some filesystems always say 1. */
static bool may_have_children(int dir)
{
    struct stat st;
    return fstat(dir, &st) == 0 && st.st_nlink != 2;
}

static void walk_level(const struct level *l);

static void enter(void *arg, const char *name)
{
    const struct level *above = arg;
    CLEANUP_CLOSE int dir = openat(above->dir, name,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return; /* a file, or removed in this moment */
    struct level l = *above;
    l.dir = dir;
    l.depth++;
    walk_level(&l);
}

static void walk_level(const struct level *l)
{
    l->visit(l->arg, l->dir);
    struct level here = *l;
    if (l->depth < MOST_LEVELS && may_have_children(l->dir))
        file_each_entry(l->dir, enter, &here);
}

void cgroup_walk_from(int dir, void (*visit)(void *arg, int dir), void *arg)
{
    walk_level(&(struct level){.dir = dir, .visit = visit, .arg = arg});
}

int cgroup_walk(const struct sysroot *root, const char *directory,
                void (*visit)(void *arg, int dir), void *arg)
{
    CLEANUP_CLOSE int dir = openat(root->root, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    cgroup_walk_from(dir, visit, arg);
    return 0;
}
