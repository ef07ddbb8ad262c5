/* SPDX-License-Identifier: MIT
 * A directory of its own for a test, and small files in it: a recorded /proc in a few lines. */
#pragma once

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
    char path[64];
};

static inline void tree_make(struct tree *t)
{
    snprintf(t->path, sizeof t->path, "/tmp/toll-test-XXXXXX");
    assert_non_null(mkdtemp(t->path));
}

static inline void tree_clear_directory(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *d; (d = readdir(dir));) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        char below[512];
        struct stat st;
        snprintf(below, sizeof below, "%s/%s", path, d->d_name);
        assert_int_equal(lstat(below, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            tree_clear_directory(below);
            assert_int_equal(rmdir(below), 0);
        } else {
            assert_int_equal(unlink(below), 0);
        }
    }
    closedir(dir);
}

static inline void tree_remove(struct tree *t)
{
    tree_clear_directory(t->path);
    assert_int_equal(rmdir(t->path), 0);
}

static inline const char *tree_path(const struct tree *t, char ret[512], const char *name)
{
    snprintf(ret, 512, "%s/%s", t->path, name);
    return ret;
}

/* Every directory above the last slash. */
static inline void tree_make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

/* A file with that text, and the directories it stands in. */
static inline void tree_write(const struct tree *t, const char *name, const char *text)
{
    char path[512];
    tree_path(t, path, name);
    tree_make_parents(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline void tree_unlink(const struct tree *t, const char *name)
{
    char path[512];
    assert_int_equal(unlink(tree_path(t, path, name)), 0);
}

static inline bool tree_has(const struct tree *t, const char *name)
{
    char path[512];
    return access(tree_path(t, path, name), F_OK) == 0;
}

/* What stands in a file; the caller frees. */
static inline char *tree_read(const struct tree *t, const char *name)
{
    char path[512];
    FILE *file = fopen(tree_path(t, path, name), "r");
    assert_non_null(file);
    enum { MOST = 1 << 20 };
    char *text = malloc(MOST);
    assert_non_null(text);
    size_t length = fread(text, 1, MOST - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static inline unsigned tree_open_fds(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}
