/* SPDX-License-Identifier: MIT */
#include "base/sysroot.h"

#include "base/err.h"

#include <fcntl.h>
#include <string.h>

static int open_directory(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int sysroot_open_at(struct sysroot *ret, int at, const char *path, bool live)
{
    struct sysroot s = {.live = live, .proc = -1, .sys = -1};
    s.root = open_directory(at, path);
    if (s.root < 0)
        return s.root;
    s.proc = open_directory(s.root, "proc");
    s.sys = open_directory(s.root, "sys");
    int r = s.proc < 0 ? s.proc : 0;
    if (r < 0)
        sysroot_close(&s);
    else
        *ret = s;
    return r;
}

int sysroot_open(struct sysroot *ret, const char *path, struct toll_error *e)
{
    bool live = !path || strcmp(path, "/") == 0;
    int r = sysroot_open_at(ret, AT_FDCWD, live ? "/" : path, live);
    return r < 0 ? err_set(e, r, "cannot open %s/proc: %s", live ? "" : path, strerror(-r)) : 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void sysroot_close(struct sysroot *s)
{
    close_one(&s->proc);
    close_one(&s->sys);
    close_one(&s->root);
}
