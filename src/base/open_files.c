/* SPDX-License-Identifier: MIT */
#include "base/open_files.h"

#include "base/file.h"
#include "base/scan.h"
#include "base/util.h"

#include <fcntl.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool number_of(const char *name, int *ret)
{
    struct scan s = scan_string(name);
    uint64_t number;
    if (!scan_u64(&s, &number) || !scan_done(&s) || number > INT32_MAX)
        return false;
    *ret = (int)number;
    return true;
}

struct listing {
    struct open_files files;
    int dir; /* what lists them is none of them */
    bool failed;
};

static void add(void *arg, const char *name)
{
    struct listing *l = arg;
    int fd;
    if (l->failed || !number_of(name, &fd) || fd == l->dir)
        return;
    int *more = reallocarray(l->files.fds, l->files.count + 1, sizeof *more);
    l->failed = !more;
    if (!more)
        return;
    l->files.fds = more;
    more[l->files.count++] = fd;
}

static int open_list(void)
{
    return open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void open_files_note(struct open_files *f)
{
    open_files_done(f);
    CLEANUP_CLOSE int dir = open_list();
    struct listing l = {.dir = dir};
    if (dir < 0 || file_each_entry(dir, add, &l) < 0 || l.failed)
        open_files_done(&l.files);
    if (l.files.count)
        qsort(l.files.fds, l.files.count, sizeof *l.files.fds, compare);
    *f = l.files;
}

size_t open_files_count(void)
{
    struct open_files now = {0};
    open_files_note(&now);
    size_t count = now.count;
    open_files_done(&now);
    return count;
}

static void hide(void *arg, const char *name)
{
    const struct open_files *before = *(const struct open_files **)arg;
    int fd;
    if (!number_of(name, &fd) ||
        bsearch(&fd, before->fds, before->count, sizeof *before->fds, compare))
        return;
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC))
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

void open_files_hide_new(const struct open_files *f)
{
    CLEANUP_CLOSE int dir = f->count ? open_list() : -1;
    if (dir >= 0)
        file_each_entry(dir, hide, &f);
}

void open_files_done(struct open_files *f)
{
    free(f->fds);
    *f = (struct open_files){0};
}
