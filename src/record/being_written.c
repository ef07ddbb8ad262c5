/* SPDX-License-Identifier: MIT */
#include "record/being_written.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

enum writer being_written_lines(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return WRITER_GONE;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
        flock(fd, LOCK_UN);
        return WRITER_GONE;
    }
    return errno == EWOULDBLOCK ? WRITER_THERE : WRITER_GONE;
}

struct search {
    int dir; /* whose entries are looked at */
    struct stat wanted;
    bool found, denied;
};

static void compare(void *arg, const char *name)
{
    struct search *s = arg;
    struct stat st;
    if (fstatat(s->dir, name, &st, 0) == 0)
        s->found |= st.st_dev == s->wanted.st_dev && st.st_ino == s->wanted.st_ino;
    else
        s->denied |= errno == EACCES || errno == EPERM;
}

/* A thread may have descriptors of its own: the library's has. */
static void look_at_thread(void *arg, const char *name)
{
    struct search *threads = arg, files = *threads;
    char path[64];
    if (threads->found)
        return;
    snprintf(path, sizeof path, "%s/fd", name);
    CLEANUP_CLOSE int dir = openat(threads->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    files.dir = dir;
    threads->denied |= dir < 0 && errno != ENOENT && errno != ESRCH;
    if (dir >= 0)
        file_each_entry(dir, compare, &files);
    threads->found |= files.found;
    threads->denied |= files.denied;
}

static bool is_this_machine(const struct run *run)
{
    struct utsname u;
    return uname(&u) == 0 && strcmp(u.nodename, run->host) == 0;
}

/* What others have open is for them and root to see; that SQLite holds a lock on the file as long
 * as it is open, for everybody. */
static bool holds_a_lock(pid_t pid, const struct stat *st)
{
    struct buf locks = {0}, wanted = {0};
    buf_printf(&wanted, " %d %02x:%02x:%llu ", (int)pid, major(st->st_dev), minor(st->st_dev),
               (unsigned long long)st->st_ino);
    bool found = file_read_whole_at(AT_FDCWD, "/proc/locks", FILE_ANY_LINE, &locks) == 0 &&
                 !buf_failed(&wanted) && !buf_failed(&locks) && locks.length &&
                 memmem(locks.data, locks.length, wanted.data, wanted.length);
    buf_done(&locks);
    buf_done(&wanted);
    return found;
}

enum writer being_written_tables(const char *path, const struct run *run)
{
    char threads[64];
    struct search s = {0};
    if (!run->own_pid || !is_this_machine(run) || stat(path, &s.wanted) < 0)
        return WRITER_UNKNOWN;
    snprintf(threads, sizeof threads, "/proc/%d/task", (int)run->own_pid);
    CLEANUP_CLOSE int dir = open(threads, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return errno == ENOENT ? WRITER_GONE : WRITER_UNKNOWN;
    s.dir = dir;
    bool is_known = file_each_entry(dir, look_at_thread, &s) == 0 && !s.denied;
    if (s.found || (!is_known && holds_a_lock(run->own_pid, &s.wanted)))
        return WRITER_THERE;
    return is_known ? WRITER_GONE : WRITER_UNKNOWN;
}
