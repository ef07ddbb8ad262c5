/* SPDX-License-Identifier: MIT */
#include "base/io/output_file.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/text/buf.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* ==== Stream ================================================================================== */

enum { SHORT_PAUSE_US = 1000 };

/* What a pipe takes as a whole when poll has found room. A terminal that has room takes less. */
enum { PIPE_PART = PIPE_BUF, TERMINAL_PART = 256 };

/* The path of an open file. A thread may have descriptors of its own. */
static void path_of_fd(int fd, char ret[64])
{
    snprintf(ret, 64, "/proc/thread-self/fd/%d", fd);
}

void stream_open(struct stream *s, int fd)
{
    struct stat st;
    *s = (struct stream){.fd = fd, .own = -1, .way = STREAM_NEVER_WAITS};
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) || fstat(fd, &st) < 0)
        return;
    if (S_ISSOCK(st.st_mode)) {
        s->way = STREAM_SOCKET;
        return;
    }
    if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && isatty(fd)))
        return;
    char itself[64];
    path_of_fd(fd, itself);
    /* Opening the master of a pseudoterminal would make a new pair. */
    bool is_master = S_ISCHR(st.st_mode) && major(st.st_rdev) == TTYAUX_MAJOR;
    if (!is_master)
        s->own = open(itself, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (s->own < 0)
        s->way = STREAM_IN_SMALL_PARTS;
}

void stream_close(struct stream *s)
{
    close_p(&s->own);
}

static int stream_send(int fd, const char *data, size_t length, size_t *ret_written)
{
    for (*ret_written = 0; *ret_written < length;) {
        ssize_t n = send(fd, data + *ret_written, length - *ret_written,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return -errno;
        *ret_written += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int stream_write_parts(int fd, const char *data, size_t length, size_t *ret_written)
{
    size_t most = isatty(fd) ? TERMINAL_PART : PIPE_PART, part;
    int r = 0;
    for (*ret_written = 0; r == 0 && *ret_written < length; *ret_written += part) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (poll(&room, 1, 0) <= 0)
            return -EAGAIN;
        r = file_write_quietly(fd, data + *ret_written, min_u64(length - *ret_written, most),
                               &part);
    }
    return r;
}

int stream_write(struct stream *s, const char *data, size_t length, size_t *ret_written)
{
    switch (s->way) {
    case STREAM_SOCKET: return stream_send(s->fd, data, length, ret_written);
    case STREAM_IN_SMALL_PARTS: return stream_write_parts(s->fd, data, length, ret_written);
    case STREAM_NEVER_WAITS: break;
    }
    return file_write_quietly(s->own >= 0 ? s->own : s->fd, data, length, ret_written);
}

bool stream_wait(const struct stream *s, int timeout_ms)
{
    struct pollfd room = {.fd = s->fd, .events = POLLOUT};
    int n = poll(&room, 1, timeout_ms);
    return n > 0 || (n < 0 && errno == EINTR && timeout_ms < 0);
}

int stream_write_patiently(struct stream *s, const char *data, size_t length, int wait_ms)
{
    size_t written;
    int r = stream_write(s, data, length, &written);
    while (r == -EAGAIN && (written || stream_wait(s, wait_ms))) {
        if (!written)
            usleep(SHORT_PAUSE_US); /* there may be room, and still no turn for us */
        data += written;
        length -= written;
        r = stream_write(s, data, length, &written);
    }
    return r;
}

/* ==== Output file ============================================================================= */

enum { LINKS_AT_MOST = 40, TRIES = 100, RANDOM_DIGITS = 12 };

/* ---- Where a path leads ---------------------------------------------------------------------- */

/* A directory, and a name in it that is not a link, or that only the kernel can follow. */
struct place {
    int directory;     /* AT_FDCWD: the current one */
    char *name;        /* owned */
    bool is_proc_link; /* as /proc/self/fd/1, where /dev/stdout leads */
};

static void place_done(struct place *p)
{
    close_p(&p->directory);
    free(p->name);
    p->name = NULL;
}

/* Whether another user may have put it there as a trap: -EPERM. A regular file of another user is
 * refused where the kernel would do so. One with a second name is refused, too, with -EMLINK: its
 * other name may be that of a file of this user. */
static int output_file_check_trust(int directory, const struct stat *st)
{
    struct stat above;
    mode_t shared = S_ISVTX | S_IWGRP;
    if (fstatat(directory, "", &above, AT_EMPTY_PATH) < 0)
        return -errno;
    if (!(above.st_mode & S_IWOTH) && (above.st_mode & shared) != shared)
        return 0;
    bool is_trusted = st->st_uid == geteuid() || st->st_uid == 0;
    if (!is_trusted && (!S_ISREG(st->st_mode) || (above.st_mode & S_ISVTX)))
        return -EPERM;
    return S_ISREG(st->st_mode) && st->st_nlink > 1 ? -EMLINK : 0;
}

/* Puts the target of the link at the start of what is left of the path. */
static int place_follow_link(int *directory, int link, const char *left, char **path)
{
    char target[PATH_MAX];
    struct stat st;
    ssize_t length = readlinkat(link, "", target, sizeof target);
    if (length <= 0 || fstat(link, &st) < 0)
        return length == 0 ? -ENOENT : -errno;
    int r = output_file_check_trust(*directory, &st);
    if (r < 0)
        return r;
    struct buf b = {0};
    buf_add(&b, target, (size_t)length);
    buf_puts(&b, left);
    if (buf_failed(&b))
        return -ENOMEM;
    free(*path);
    *path = b.data;
    if (target[0] != '/')
        return 0;
    close_p(directory);
    *directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *directory < 0 ? -errno : 0;
}

/* Goes from one component to the next with descriptors: others may exchange what they have planted
 * at any time, but not what is held. The last component may be missing. As few descriptors as
 * possible are open at a time, because a run may have hardly any left: none for a plain name. */
static int place_find(struct place *ret, const char *path)
{
    CLEANUP_FREE char *rest = strdup(path);
    CLEANUP_CLOSE int directory = AT_FDCWD;
    if (!rest)
        return -ENOMEM;
    if (*path == '/')
        directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*path == '/' && directory < 0)
        return -errno;
    if (!*path)
        return -ENOENT;
    unsigned links = 0;
    for (const char *at = rest;;) {
        at += strspn(at, "/");
        size_t length = strcspn(at, "/");
        const char *left = at + length;
        bool is_last = !*left;
        if (length == 0) /* the path ends with a slash */
            return -EISDIR;
        CLEANUP_FREE char *name = strndup(at, length);
        if (!name)
            return -ENOMEM;
        struct stat st = {0};
        int r = fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
        if (r < 0 && (r != -ENOENT || !is_last))
            return r;
        bool is_link = r == 0 && S_ISLNK(st.st_mode);
        struct statfs fs = {0};
        bool is_proc_link = is_link &&
                            (directory == AT_FDCWD ? statfs(".", &fs) : fstatfs(directory, &fs)) ==
                                0 &&
                            fs.f_type == PROC_SUPER_MAGIC;
        if (is_last && r == 0 && S_ISDIR(st.st_mode))
            return -EISDIR;
        if (is_last && (!is_link || is_proc_link)) {
            *ret = (struct place){directory, name, is_proc_link};
            directory = -1;
            name = NULL;
            return 0;
        }
        if (!is_link || is_proc_link) {
            int follow = is_proc_link ? 0 : O_NOFOLLOW;
            int next = openat(directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC | follow);
            if (next < 0)
                return -errno;
            close_p(&directory);
            directory = next;
            at = left;
            continue;
        }
        if (++links > LINKS_AT_MOST)
            return -ELOOP;
        CLEANUP_CLOSE int link = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        r = link < 0 ? -errno : place_follow_link(&directory, link, left, &rest);
        if (r < 0)
            return r;
        at = rest;
    }
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int output_file_cannot_write(const char *path, int r, struct toll_error *e)
{
    if (r == -EPERM)
        return err_set(
            e, r,
            "cannot write to '%s': file of another user in a directory that others can write to",
            path);
    if (r == -EMLINK)
        return err_set(e, r,
                       "cannot write to '%s': file with several hard links in a directory that "
                       "others can write to",
                       path);
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *directory = slash && slash > path ? strndup(path, (size_t)(slash - path))
                                                         : NULL;
    if (r == -ENOENT && directory && access(directory, F_OK) < 0)
        return err_set(e, r, "cannot write to '%s': %s (first: mkdir -p '%s')", path, strerror(-r),
                       directory);
    return err_set(e, r, "cannot write to '%s': %s", path,
                   r == -ENXIO ? "no process reads from it" : strerror(-r));
}

/* Without O_CREAT; whatever is there is looked at before anything is done to it. */
static int output_file_open_there(const struct place *p, int flags, struct stat *ret_st)
{
    int fd = openat(p->directory, p->name,
                    flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (p->is_proc_link ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return errno == EPERM ? -EACCES : -errno; /* an immutable file; EPERM means not trusted */
    int r = fstat(fd, ret_st) < 0 ? -errno
            : p->is_proc_link     ? 0
                                  : output_file_check_trust(p->directory, ret_st);
    if (r == 0 && S_ISDIR(ret_st->st_mode))
        r = -EISDIR;
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

static int output_file_open_or_make(const struct place *p, bool *ret_made)
{
    struct stat st;
    int fd = -ENOENT;
    *ret_made = false;
    for (unsigned i = 0; i < TRIES && fd == -ENOENT; i++) {
        fd = output_file_open_there(p, O_WRONLY | O_APPEND, &st);
        if (fd != -ENOENT || p->is_proc_link)
            break;
        fd = openat(p->directory, p->name,
                    O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                    0666);
        *ret_made = fd >= 0;
        if (fd < 0) /* another program was faster: its file is looked at like any other */
            fd = errno == EEXIST ? -ENOENT : errno == ENOENT ? -ESTALE : -errno;
    }
    return fd == -ESTALE ? -ENOENT : fd;
}

int output_file_open(const char *path, bool *ret_made, struct toll_error *e)
{
    struct place p;
    bool made = false;
    int fd = place_find(&p, path);
    if (fd == 0) {
        fd = output_file_open_or_make(&p, &made);
        place_done(&p);
    }
    if (fd < 0)
        return output_file_cannot_write(path, fd, e);
    if (ret_made)
        *ret_made = made;
    return fd;
}

int output_file_open_existing(const char *path, struct toll_error *e)
{
    struct place p;
    struct stat st;
    int fd = place_find(&p, path);
    if (fd == 0) {
        fd = output_file_open_there(&p, O_RDWR | O_APPEND, &st);
        place_done(&p);
    }
    if (fd >= 0 && !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(e, -EBADMSG, "cannot write to '%s': not a regular file", path);
    }
    return fd < 0 ? output_file_cannot_write(path, fd, e) : fd;
}

int output_file_check(const char *path, struct toll_error *e)
{
    struct place p;
    struct stat st;
    int r = place_find(&p, path);
    if (r < 0)
        return output_file_cannot_write(path, r, e);
    int flags = p.is_proc_link ? 0 : AT_SYMLINK_NOFOLLOW;
    r = fstatat(p.directory, p.name, &st, flags) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(st.st_mode)) {
        place_done(&p);
        return err_set(e, -EINVAL, "cannot write to '%s': not a regular file", path);
    }
    if (r == 0 && !p.is_proc_link)
        r = output_file_check_trust(p.directory, &st);
    place_done(&p);
    return r < 0 && r != -ENOENT ? output_file_cannot_write(path, r, e) : 0;
}

static void output_file_remove_at(int directory, const char *name, const struct stat *ours)
{
    struct stat there;
    if (fstatat(directory, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        ours->st_dev == there.st_dev && ours->st_ino == there.st_ino)
        unlinkat(directory, name, 0);
}

void output_file_remove(const char *path, int fd)
{
    struct place p;
    struct stat ours;
    if (fstat(fd, &ours) < 0)
        return;
    int r = place_find(&p, path);
    if (r == 0 && !p.is_proc_link)
        output_file_remove_at(p.directory, p.name, &ours);
    if (r == 0)
        place_done(&p);
    else if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
        output_file_remove_at(AT_FDCWD, path, &ours); /* nothing is left to follow the path with */
}

/* ---- Names that nothing else has ------------------------------------------------------------- */

/* ".NAME.3f9a…": hidden, so that no pattern of a shell meets it, and not to be guessed. */
static char *output_file_make_name(const char *name, const char *suffix)
{
    uint64_t number = 0;
    char digits[RANDOM_DIGITS + 1];
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = clock_mono(NULL) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)getpid() << 32;
    for (size_t i = 0; i < RANDOM_DIGITS; i++, number >>= 4)
        digits[i] = "0123456789abcdef"[number & 15];
    digits[RANDOM_DIGITS] = '\0';
    struct buf b = {0};
    size_t most = NAME_MAX - RANDOM_DIGITS - 2 - strlen(suffix);
    buf_putc(&b, '.');
    buf_add(&b, name, strnlen(name, most));
    buf_printf(&b, ".%s%s", digits, suffix);
    return buf_take(&b);
}

/* The path of a name in a directory, by what the directory is called now. The caller frees it. */
static char *place_path(int directory, const char *name)
{
    char itself[64], above[PATH_MAX];
    struct buf b = {0};
    path_of_fd(directory, itself);
    ssize_t length = directory != AT_FDCWD         ? readlink(itself, above, sizeof above - 1)
                     : getcwd(above, sizeof above) ? (ssize_t)strlen(above)
                                                   : -1;
    if (length <= 0 || above[0] != '/')
        return NULL;
    above[length] = '\0';
    buf_printf(&b, "%s/%s", strcmp(above, "/") == 0 ? "" : above, name);
    return buf_take(&b);
}

char *output_file_resolve(const char *path)
{
    struct place p;
    if (place_find(&p, path) < 0)
        return NULL;
    char *whole = place_path(p.directory, p.name);
    place_done(&p);
    return whole;
}

/* A new file with a name of its own in *ret_name. */
static int output_file_make_named(const struct place *p, const char *suffix, mode_t mode,
                                  char **ret_name)
{
    for (unsigned i = 0; i < TRIES; i++) {
        CLEANUP_FREE char *name = output_file_make_name(p->name, suffix);
        if (!name)
            return -ENOMEM;
        int fd = openat(p->directory, name,
                        O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);
        if (fd >= 0) {
            *ret_name = name;
            name = NULL;
            return fd;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

char *output_file_make_beside(const char *path, const char *suffix, struct toll_error *e)
{
    struct place p;
    char *name = NULL, *whole = NULL;
    int fd = place_find(&p, path);
    if (fd == 0) {
        fd = output_file_make_named(&p, suffix, 0666, &name);
        whole = fd >= 0 ? place_path(p.directory, name) : NULL;
        if (fd >= 0 && !whole)
            unlinkat(p.directory, name, 0);
        place_done(&p);
    }
    free(name);
    if (fd >= 0)
        close(fd);
    if (!whole)
        output_file_cannot_write(path, fd < 0 ? fd : -ENOMEM, e);
    return whole;
}

/* ---- Replacing ------------------------------------------------------------------------------- */

/* Until it is complete, a file that replaces another is for its user alone. */
static int replacement_open_new(struct replacement *r, const struct place *p)
{
    mode_t mode = r->was_there || (r->flags & REPLACEMENT_FOR_ALL) ? 0600 : 0666;
    if (!(r->flags & REPLACEMENT_NAMED)) {
        /* Without a name nothing is left when the program is killed; not every filesystem can. */
        r->fd = openat(p->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_NONBLOCK, mode);
        char itself[64];
        path_of_fd(r->fd, itself);
        /* It gets its name through /proc, which is not mounted everywhere. */
        if (r->fd >= 0 && access(itself, F_OK) == 0)
            return 0;
        close_p(&r->fd);
    }
    int fd = output_file_make_named(p, "", mode, &r->temporary);
    if (fd < 0)
        return fd;
    r->fd = fd;
    if (!(r->flags & REPLACEMENT_NAMED))
        return 0;
    r->path = place_path(p->directory, r->temporary);
    return r->path ? 0 : -ENOMEM;
}

/* What is there: a regular file that we may write to is replaced, anything else is opened. */
static int replacement_open_place(struct replacement *r, const struct place *p)
{
    int found = output_file_open_there(p, O_WRONLY, &r->before);
    if (found == -ENOENT) {
        r->is_file = true;
        return replacement_open_new(r, p);
    }
    if (found < 0)
        return found;
    if (r->flags & REPLACEMENT_IS_NEW) {
        close(found);
        return -EEXIST;
    }
    if (S_ISREG(r->before.st_mode) && !p->is_proc_link) {
        r->is_file = r->was_there = true;
        int result = replacement_open_new(r, p);
        bool is_allowed = result != -EACCES && result != -EPERM && result != -EROFS;
        if (is_allowed || !(r->flags & REPLACEMENT_IN_PLACE)) {
            close(found);
            return result;
        }
        r->is_file = false;
    }
    r->fd = found;
    return S_ISREG(r->before.st_mode) && ftruncate(found, 0) < 0 ? -errno : 0;
}

int replacement_open(struct replacement *r, const char *path, unsigned flags, struct toll_error *e)
{
    struct place p;
    *r = (struct replacement)REPLACEMENT_CLOSED;
    r->flags = flags;
    int result = place_find(&p, path);
    if (result < 0)
        return output_file_cannot_write(path, result, e);
    /* The program may have another current directory by the time of the commit. */
    if (p.directory == AT_FDCWD)
        p.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    result = p.directory < 0 ? -errno : replacement_open_place(r, &p);
    if (result == 0 && r->is_file) {
        r->directory = take_fd(&p.directory);
        r->name = p.name;
        p.name = NULL;
    }
    place_done(&p);
    if (result < 0) {
        replacement_close(r);
        return output_file_cannot_write(path, result, e);
    }
    return 0;
}

/* Gives it a name of its own. */
static int replacement_link(struct replacement *r)
{
    char itself[64];
    path_of_fd(r->fd, itself);
    for (unsigned i = 0; i < TRIES; i++) {
        CLEANUP_FREE char *name = output_file_make_name(r->name, "");
        if (!name)
            return -ENOMEM;
        if (linkat(AT_FDCWD, itself, r->directory, name, AT_SYMLINK_FOLLOW) == 0) {
            r->temporary = name;
            name = NULL;
            return 0;
        }
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* The group may not see more than before when it is another one. */
static int replacement_copy_mode(struct replacement *r)
{
    bool is_for_all = r->flags & REPLACEMENT_FOR_ALL;
    mode_t mode = is_for_all ? 0644 : r->before.st_mode & 0777;
    struct stat now;
    if (!r->was_there)
        return is_for_all && fchmod(r->fd, mode) < 0 ? -errno : 0;
    if (fstat(r->fd, &now) < 0)
        return -errno;
    if (now.st_uid != r->before.st_uid && fchown(r->fd, r->before.st_uid, (gid_t)-1) < 0 &&
        errno != EPERM)
        return -errno;
    if (now.st_gid != r->before.st_gid && fchown(r->fd, (uid_t)-1, r->before.st_gid) < 0) {
        if (errno != EPERM)
            return -errno;
        mode &= ~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3;
    }
    return fchmod(r->fd, mode) < 0 ? -errno : 0;
}

/* Not over a file that came meanwhile, where the filesystem can find that out. */
static int replacement_rename_new(const struct replacement *r)
{
    if (renameat2(r->directory, r->temporary, r->directory, r->name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(r->directory, r->temporary, r->directory, r->name, 0) == 0)
        return 0;
    bool has_links = errno != EPERM && errno != EOPNOTSUPP;
    return has_links || renameat(r->directory, r->temporary, r->directory, r->name) < 0 ? -errno
                                                                                        : 0;
}

int replacement_commit(struct replacement *r)
{
    int result = 0;
    if (!r->is_file)
        return 0;
    result = replacement_copy_mode(r);
    if (result == 0 && !r->temporary)
        result = replacement_link(r);
    if (result < 0)
        return result;
    if (r->flags & REPLACEMENT_IS_NEW) {
        result = replacement_rename_new(r);
        unlinkat(r->directory, r->temporary, 0);
    } else if (renameat(r->directory, r->temporary, r->directory, r->name) < 0) {
        return -errno;
    }
    if (result < 0)
        return result;
    free(r->temporary);
    r->temporary = NULL;
    return 0;
}

void replacement_close(struct replacement *r)
{
    if (r->temporary)
        unlinkat(r->directory, r->temporary, 0);
    close_p(&r->fd);
    close_p(&r->directory);
    free(r->temporary);
    free(r->name);
    free(r->path);
    *r = (struct replacement)REPLACEMENT_CLOSED;
}
