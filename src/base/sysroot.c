/* SPDX-License-Identifier: MIT */
#include "base/sysroot.h"

#include "base/err.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

int sysroot_open(struct sysroot *ret, const char *path, struct toll_error *e)
{
    bool live = !path || strcmp(path, "/") == 0;
    char proc[PATH_MAX];
    int length = snprintf(proc, sizeof proc, "%s/proc", live ? "" : path);
    if (length < 0 || (size_t)length >= sizeof proc)
        return err_set(e, -EINVAL, "the path of the system root is too long");

    int fd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, -errno, "cannot open %s: %s", proc, strerror(errno));
    *ret = (struct sysroot){.proc = fd, .live = live};
    return 0;
}

void sysroot_close(struct sysroot *s)
{
    if (s->proc >= 0)
        close(s->proc);
    s->proc = -1;
}
