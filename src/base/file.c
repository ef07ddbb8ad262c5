/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdalign.h>

ssize_t file_reread(int fd, char *buf, size_t capacity)
{
    ssize_t n;
    do
        n = pread(fd, buf, capacity, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t file_read_at(int dir, const char *path, char *buf, size_t capacity)
{
    CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : file_reread(fd, buf, capacity);
}

int file_write_all(int fd, const char *data, size_t length, size_t *ret_written)
{
    size_t written = 0;
    int r = 0;
    while (written < length && r == 0) {
        ssize_t n = write(fd, data + written, length - written);
        if (n >= 0)
            written += (size_t)n;
        else if (errno != EINTR)
            r = -errno;
    }
    if (ret_written)
        *ret_written = written;
    return r;
}

int file_each_entry(int dir, void (*visit)(void *arg, const char *name), void *arg)
{
    alignas(struct dirent64) char entries[4096];
    if (lseek(dir, 0, SEEK_SET) < 0)
        return -errno;
    ssize_t n;
    while ((n = getdents64(dir, entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *d = (const struct dirent64 *)(entries + at);
            if (d->d_name[0] != '.')
                visit(arg, d->d_name);
            at += d->d_reclen;
        }
    }
    return n < 0 ? -errno : 0;
}

int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg)
{
    struct dirent **entries;
    int count = scandirat(dir, ".", &entries, NULL, versionsort);
    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            visit(arg, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 0;
}
