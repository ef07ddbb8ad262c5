/* SPDX-License-Identifier: MIT */
#include "collect/cgroup_file.h"

#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

ssize_t cgroup_file_read(struct cgroup_file *f, const struct sysroot *root, const char *directory,
                         const char *name, char *ret, size_t capacity)
{
    if (f->fd >= 0)
        return file_reread(f->fd, ret, capacity);
    if (f->refused)
        return f->refused;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return -ENAMETOOLONG;
    if (!root->live)
        return file_read_at(root->root, path, ret, capacity);
    f->fd = openat(root->root, path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) {
        f->refused = errno == ENOENT || errno == EACCES ? -errno : 0;
        return -errno;
    }
    return file_reread(f->fd, ret, capacity);
}

void cgroup_file_close(struct cgroup_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    *f = CGROUP_FILE_CLOSED;
}
