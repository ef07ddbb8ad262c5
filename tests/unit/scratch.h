/* SPDX-License-Identifier: MIT
 * Files that a test writes and forgets, below a directory of its own. */
#pragma once

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char scratch[64];

static inline int scratch_make(void **state)
{
    strcpy(scratch, "/tmp/toll-unit.XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_remove(void **state)
{
    DIR *dir = opendir(scratch);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    return rmdir(scratch);
}

/* The path of a file in it, good until the fourth that is asked for after it. */
static inline const char *scratch_path(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline const char *scratch_write(const char *name, const char *text)
{
    const char *path = scratch_path(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static inline void assert_file_is(const char *path, const char *text)
{
    char got[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t length = read(fd, got, sizeof got - 1);
    close(fd);
    assert_true(length >= 0);
    got[length] = '\0';
    assert_string_equal(got, text);
}
