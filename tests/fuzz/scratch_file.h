/* SPDX-License-Identifier: MIT
 * A file for the targets whose code takes a path: in memory where it can be, written anew for each
 * input, removed at the end. */
#pragma once

#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>

static char scratch_directory[64];

static void scratch_remove(void)
{
    DIR *dir = opendir(scratch_directory);
    for (struct dirent *d; dir && (d = readdir(dir));)
        unlinkat(dirfd(dir), d->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(scratch_directory);
}

/* The path of a file with that name, in a directory of this process. */
static inline const char *scratch_path(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % ARRAY_LEN(paths)];
    if (!*scratch_directory) {
        snprintf(scratch_directory, sizeof scratch_directory, "%s/toll-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        CHECK(mkdtemp(scratch_directory) && atexit(scratch_remove) == 0);
    }
    snprintf(path, sizeof paths[0], "%s/%s", scratch_directory, name);
    return path;
}

static inline void scratch_write(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}
