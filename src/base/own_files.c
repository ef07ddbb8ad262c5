/* SPDX-License-Identifier: MIT */
#include "base/own_files.h"

#include "base/file.h"
#include "base/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { CLOSE_AND_UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE */

static int close_range_of(unsigned first, unsigned last, unsigned flags)
{
#ifdef SYS_close_range
    return syscall(SYS_close_range, first, last, flags) < 0 ? -errno : 0;
#else
    (void)first, (void)last, (void)flags;
    return -ENOSYS;
#endif
}

/* Containers often forbid unshare, but not this. */
static int unshare_files(void)
{
    if (close_range_of(~0U, ~0U, CLOSE_AND_UNSHARE) == 0)
        return 0;
    return unshare(CLONE_FILES) < 0 ? -errno : 0;
}

struct range {
    int dir; /* being read: it stays open meanwhile */
    uint64_t first, last;
};

static void close_in_range(void *arg, const char *name)
{
    const struct range *range = arg;
    struct scan s = scan_string(name);
    uint64_t fd;
    if (scan_u64(&s, &fd) && fd >= range->first && fd <= range->last && (int)fd != range->dir)
        close((int)fd);
}

/* Where the kernel is older than Linux 5.9. */
static void close_one_by_one(unsigned first, unsigned last)
{
    CLEANUP_CLOSE int dir = open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct range range = {dir, first, last};
    if (dir >= 0)
        file_each_entry(dir, close_in_range, &range);
}

static void close_all_from_to(unsigned first, unsigned last)
{
    if (first <= last && close_range_of(first, last, 0) < 0)
        close_one_by_one(first, last);
}

int own_files_only(const int *keep, size_t count)
{
    int r = unshare_files();
    if (r < 0)
        return r;
    unsigned next = 0;
    for (size_t i = 0; i < count; i++) {
        if (keep[i] > 0)
            close_all_from_to(next, (unsigned)keep[i] - 1);
        next = (unsigned)keep[i] + 1;
    }
    close_all_from_to(next, ~0U);
    /* What is printed to the numbers that everybody knows must not end in one of our files. */
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd < 3)
        fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 3)
        close(fd);
    return 0;
}

void known_file_set(struct known_file *f, int fd)
{
    struct stat st = {0};
    *f = (struct known_file){.fd = fd >= 0 && fstat(fd, &st) == 0 ? fd : -1};
    f->device = st.st_dev;
    f->inode = st.st_ino;
}

bool known_file_is(const struct known_file *f, const struct stat *st)
{
    return st->st_dev == f->device && st->st_ino == f->inode;
}

bool known_file_is_there(const struct known_file *f)
{
    struct stat st;
    return f->fd >= 0 && fstat(f->fd, &st) == 0 && known_file_is(f, &st);
}

void known_file_close(struct known_file *f)
{
    if (known_file_is_there(f))
        close(f->fd);
    f->fd = -1;
}
