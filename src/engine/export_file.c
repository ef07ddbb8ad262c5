/* SPDX-License-Identifier: MIT */
#include "engine/export_file.h"

#include "base/buf.h"
#include "base/err.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

static int cannot_write(const char *path, int error, struct toll_error *e)
{
    return err_set(e, -error, "cannot write to '%s': %s", path, strerror(error));
}

/* The folder of a path, and a name in it that nobody has. */
static char *beside(const char *path, const char *tail)
{
    struct buf b = {0};
    const char *slash = strrchr(path, '/');
    buf_add(&b, path, slash ? (size_t)(slash + 1 - path) : 0);
    buf_puts(&b, slash ? "" : "./");
    buf_puts(&b, tail ? "." : "");
    buf_puts(&b, tail ? (slash ? slash + 1 : path) : "");
    buf_puts(&b, tail ? tail : "");
    if (buf_failed(&b))
        buf_done(&b);
    return b.data;
}

/* Without a name, so that nothing is left behind whatever happens; not every filesystem can. */
static int open_nameless(const char *path)
{
    CLEANUP_FREE char *folder = beside(path, NULL);
    return folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
}

static int open_new(struct export_file *f)
{
    struct stat st;
    f->fd = open_nameless(f->path);
    if (f->fd < 0) {
        f->other = beside(f->path, ".XXXXXX");
        f->fd = f->other ? mkostemp(f->other, O_CLOEXEC) : -1;
        if (f->fd < 0) {
            int error = f->other ? errno : ENOMEM;
            free(f->other);
            f->other = NULL;
            return -error;
        }
        mode_t mask = umask(0);
        umask(mask);
        if (fchmod(f->fd, 0666 & ~mask) < 0)
            return -errno;
    }
    if (stat(f->path, &st) == 0 && fchmod(f->fd, st.st_mode & 07777) < 0)
        return -errno;
    return 0;
}

static bool is_being_written(const char *path)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int export_file_open(struct export_file *f, const char *path, struct toll_error *e)
{
    struct stat st;
    int r = stat(path, &st) < 0 ? -errno : 0;
    *f = (struct export_file){.fd = -1};
    if (r < 0 && r != -ENOENT)
        return cannot_write(path, -r, e);
    if (r == 0 && !S_ISREG(st.st_mode)) {
        f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return f->fd < 0 ? cannot_write(path, errno, e) : 0;
    }
    if (r == 0 && access(path, W_OK) < 0)
        return cannot_write(path, errno, e);
    if (r == 0 && is_being_written(path))
        return err_set(e, -EBUSY, "'%s' is being written by another toll", path);
    f->path = r == 0 ? realpath(path, NULL) : strdup(path);
    r = f->path ? open_new(f) : -errno;
    if (r < 0) {
        export_file_close(f);
        return cannot_write(path, -r, e);
    }
    return 0;
}

/* Gives the file a name that is its own. */
static int give_name(struct export_file *f)
{
    char itself[64];
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", f->fd);
    for (unsigned tries = 0; tries < 100; tries++) {
        char tail[48];
        snprintf(tail, sizeof tail, ".%d-%u", (int)getpid(), tries);
        free(f->other);
        f->other = beside(f->path, tail);
        if (!f->other)
            return -ENOMEM;
        if (linkat(AT_FDCWD, itself, AT_FDCWD, f->other, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    int error = errno;
    free(f->other);
    f->other = NULL;
    return -error;
}

int export_file_commit(struct export_file *f, struct toll_error *e)
{
    int r = 0;
    if (f->path && !f->other)
        r = give_name(f);
    if (r == 0 && f->path && rename(f->other, f->path) < 0)
        r = -errno;
    if (r < 0)
        return cannot_write(f->path, -r, e);
    free(f->other);
    f->other = NULL;
    return 0;
}

void export_file_close(struct export_file *f)
{
    close_p(&f->fd);
    if (f->other)
        unlink(f->other);
    free(f->other);
    free(f->path);
    *f = (struct export_file){.fd = -1};
}
