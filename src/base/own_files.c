/* SPDX-License-Identifier: MIT */
#include "base/own_files.h"

#include "base/file.h"
#include "base/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
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

/* Whether another thread of this program has the same table: 1 or 0, or -errno when the kernel does
 * not compare. */
static int shares_table_with(pid_t thread)
{
#ifdef SYS_kcmp
    enum { COMPARE_FILES = 2 }; /* KCMP_FILES */
    long r = syscall(SYS_kcmp, (pid_t)syscall(SYS_gettid), thread, COMPARE_FILES, 0, 0);
    return r < 0 ? -errno : r == 0;
#else
    (void)thread;
    return -ENOSYS;
#endif
}

/* The same, by a descriptor that is opened here and looked for there. Where the table is shared
 * after all, other threads may close it meanwhile: then it is not found here either. */
static int sees_new_file(pid_t thread)
{
    int ends[2];
    struct known_file probe;
    struct stat there;
    char path[64];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    known_file_set(&probe, ends[0]);
    snprintf(path, sizeof path, "/proc/self/task/%d/fd", (int)thread);
    int r = stat(path, &there) < 0 ? -errno : 0;
    if (r == 0) {
        snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)thread, ends[0]);
        if (stat(path, &there) == 0)
            r = known_file_is(&probe, &there);
        else
            r = errno == ENOENT ? 0 : -errno;
    }
    if (r == 0 && !known_file_is_there(&probe))
        r = 1;
    known_file_close(&probe);
    known_file_set(&probe, ends[1]);
    known_file_close(&probe);
    return r;
}

/* What runs programs instead of the kernel (valgrind, sandboxes) may answer that it has unshared
 * the table without doing so: then whatever is closed here would be closed for the program. */
static bool is_separate_from(pid_t thread)
{
    int shared = shares_table_with(thread);
    if (shared < 0)
        shared = sees_new_file(thread);
    return shared == 0;
}

/* Containers often forbid unshare, but not close_range. */
static int unshare_files(pid_t from)
{
    if (close_range_of(~0U, ~0U, CLOSE_AND_UNSHARE) == 0 && is_separate_from(from))
        return 0;
    if (unshare(CLONE_FILES) < 0)
        return -errno;
    return is_separate_from(from) ? 0 : -EOPNOTSUPP;
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

void own_files_close_rest(const int *keep, size_t count)
{
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
}

int own_files_only(const int *keep, size_t count, pid_t from)
{
    int r = unshare_files(from);
    if (r == 0)
        own_files_close_rest(keep, count);
    return r;
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
