/* SPDX-License-Identifier: MIT */
#include "sink/spool.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* ==== Operations ============================================================================== */

static const char *const spool_op_words[SPOOL_OPS] = {
    [SPOOL_HEAD] = "toll-spool",   [SPOOL_TO] = "to",
    [SPOOL_CREATE] = "create",     [SPOOL_EXPERIMENT] = "experiment",
    [SPOOL_RUN] = "run",           [SPOOL_BATCH] = "batch",
    [SPOOL_ARTIFACT] = "artifact", [SPOOL_UPDATE] = "update",
    [SPOOL_SAMPLES] = "samples",   [SPOOL_SENT] = "sent",
    [SPOOL_REQUEST] = "request",   [SPOOL_SKIP] = "skip",
    [SPOOL_PARAMS] = "params",
};

void spool_op_add(struct buf *b, enum spool_op_kind kind, const char *name, const char *body,
                  size_t length)
{
    buf_printf(b, "%s %s %llu\n", spool_op_words[kind], *name ? name : "-",
               (unsigned long long)length);
    buf_add(b, body, length);
    buf_putc(b, '\n');
}

void spool_op_add_number(struct buf *b, enum spool_op_kind kind, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)number);
    spool_op_add(b, kind, name, "", 0);
}

/* The next word of a line and the blank after it. */
static bool spool_op_cut_word(struct scan *line, struct scan *ret)
{
    const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
    if (!blank || blank == line->at)
        return false;
    *ret = scan_text(line->at, (size_t)(blank - line->at));
    line->at = blank + 1;
    return true;
}

static bool spool_op_is_word(const struct scan *s, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(s->end - s->at) == length && memcmp(s->at, word, length) == 0;
}

int spool_op_next(struct scan *text, struct spool_op *ret)
{
    struct scan at = *text, line, word;
    uint64_t length;
    if (scan_done(text))
        return 0;
    const char *newline = memchr(at.at, '\n', (size_t)(at.end - at.at));
    if (!newline || !scan_line(&at, &line) || !spool_op_cut_word(&line, &word) ||
        !spool_op_cut_word(&line, &ret->name) || !scan_u64(&line, &length) || !scan_done(&line))
        return -EBADMSG;
    unsigned kind = 0;
    while (kind < SPOOL_OPS && !spool_op_is_word(&word, spool_op_words[kind]))
        kind++;
    size_t left = (size_t)(at.end - at.at);
    if (kind == SPOOL_OPS || left < 1 || length > left - 1 || at.at[length] != '\n')
        return -EBADMSG;
    ret->kind = kind;
    if (spool_op_is_word(&ret->name, "-"))
        ret->name.at = ret->name.end;
    ret->body = scan_text(at.at, length);
    text->at = at.at + length + 1;
    return 1;
}

/* ==== The file ================================================================================ */

enum { FIRST_BYTES = 1 << 20, LARGEST_BYTES = 256 << 20, NUMBERS = 1000 };

/* A file that a user named must be possible before anything runs: a mistyped directory is not made.
 */
static int spool_file_check(const char *kind, const char *file, struct toll_error *e)
{
    struct stat st;
    const char *slash = strrchr(file, '/');
    char *directory = !slash          ? strdup(".")
                      : slash == file ? strdup("/")
                                      : strndup(file, (size_t)(slash - file));
    if (!directory)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    int r = 0;
    if ((slash && !slash[1]) || (stat(file, &st) == 0 && S_ISDIR(st.st_mode)))
        r = err_set(e, -EINVAL, "%s: invalid spool '%s' (expected a file, not a directory)", kind,
                    file);
    else if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
        r = err_set(e, -EINVAL, "%s: cannot create a spool file in '%s': %s", kind, directory,
                    strerror(errno));
    free(directory);
    return r;
}

int spool_file_init(struct spool_file *f, const char *kind, const char *file, const char *id,
                    struct toll_error *e)
{
    struct buf b = {0};
    *f = (struct spool_file){.fd = -1, .is_ours = !file};
    if (file && strcmp(file, "none") == 0)
        return 0;
    if (file) {
        int r = spool_file_check(kind, file, e);
        if (r < 0)
            return r;
        buf_puts(&b, file);
    } else {
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        if (state && *state == '/')
            buf_printf(&b, "%s/toll", state);
        else if (home && *home == '/')
            buf_printf(&b, "%s/.local/state/toll", home);
        else
            buf_printf(&b, "/tmp/toll-%u", (unsigned)geteuid());
        buf_printf(&b, "/%s-%s.spool", kind, id);
    }
    if (buf_failed(&b)) {
        buf_done(&b);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    f->path = b.data;
    return 0;
}

/* Makes the missing directories of a path, for their owner alone. The last one must be ours where
 * other users can make directories, as in /tmp. */
static int spool_make_directories(const char *path)
{
    struct stat st, above;
    CLEANUP_FREE char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    for (char *c = copy; (c = strchr(c + 1, '/'));) {
        *c = '\0';
        mkdir(copy, 0700);
        *c = '/';
    }
    *strrchr(copy, '/') = '\0';
    if (lstat(copy, &st) < 0)
        return -errno;
    bool is_private = S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                      !(st.st_mode & (S_IWGRP | S_IWOTH));
    bool is_tmp = strncmp(copy, "/tmp/", 5) == 0;
    *(strrchr(copy, '/') + 1) = '\0';
    bool is_shared = is_tmp || stat(copy, &above) < 0 || (above.st_mode & S_IWOTH);
    return is_shared && !is_private ? -EPERM : 0;
}

bool spool_file_has_unsent(const struct spool_file *f)
{
    return f->fd >= 0 && f->sent < f->length;
}

/* -EEXIST also for a link, and for a file that another toll found and locked first. */
static int spool_make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd;
    unlink(path);
    close(fd);
    return -EEXIST;
}

/* Makes the file and writes its head. When the name is taken, a number is added to it. */
static int spool_file_make(struct spool_file *f)
{
    int r = f->is_ours ? spool_make_directories(f->path) : 0;
    int fd = r < 0 ? r : spool_make_file(f->path);
    for (unsigned i = 1; fd == -EEXIST && i <= NUMBERS; i++) {
        struct buf b = {0};
        buf_printf(&b, "%s.%u", f->path, i);
        fd = buf_failed(&b) ? -ENOMEM : spool_make_file(b.data);
        if (fd < 0) {
            buf_done(&b);
            continue;
        }
        free(f->path);
        f->path = b.data;
    }
    if (fd < 0)
        return fd;
    r = file_write_quietly(fd, f->head.data, f->head.length, NULL);
    if (r < 0) {
        unlink(f->path);
        close(fd);
        return r;
    }
    f->fd = fd;
    f->length = f->sent = f->head.length;
    return 0;
}

int spool_file_add(struct spool_file *f, const char *data, size_t length, bool is_last)
{
    if (!f->path)
        return -ENOENT;
    uint64_t before = f->fd < 0 ? f->head.length : f->length;
    if (f->most_bytes && !is_last && before + length > f->most_bytes)
        return -EFBIG;
    int r = f->fd < 0 ? spool_file_make(f) : 0;
    if (r < 0)
        return r;
    r = file_write_quietly(f->fd, data, length, NULL);
    if (r < 0) {
        if (ftruncate(f->fd, (off_t)f->length) == 0)
            lseek(f->fd, (off_t)f->length, SEEK_SET);
        return r;
    }
    f->length += length;
    return 0;
}

int spool_file_open(struct spool_file *f, const char *path)
{
    struct stat st;
    *f = (struct spool_file){.fd = output_file_open_existing(path, NULL)};
    if (f->fd < 0)
        return f->fd;
    int r = flock(f->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY
            : fstat(f->fd, &st) < 0                                     ? -errno
                                                                        : 0;
    if (r == 0 && !(f->path = strdup(path)))
        r = -ENOMEM;
    if (r < 0)
        close_p(&f->fd);
    else
        f->length = (uint64_t)st.st_size;
    return r;
}

/* Replaces the content of *ret by a part of the file. */
static int spool_file_read(const struct spool_file *f, uint64_t at, size_t wanted, struct buf *ret)
{
    size_t room;
    buf_clear(ret);
    char *to = buf_room(ret, wanted, &room);
    if (!to)
        return -ENOMEM;
    while (ret->length < wanted) {
        ssize_t n = pread(f->fd, to + ret->length, wanted - ret->length, (off_t)(at + ret->length));
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        ret->length += (size_t)n;
    }
    return 0;
}

int spool_file_each(const struct spool_file *f, uint64_t *at,
                    int (*visit)(void *arg, const struct spool_op *op), void *arg)
{
    struct buf part = {0};
    size_t most = FIRST_BYTES;
    int r = 0;
    while (r == 0 && *at < f->length) {
        uint64_t began = *at;
        size_t wanted = min_u64(f->length - began, most);
        r = spool_file_read(f, began, wanted, &part);
        struct scan text = scan_text(part.data, r == 0 ? wanted : 0);
        struct spool_op op;
        while (r == 0 && spool_op_next(&text, &op) > 0 && (r = visit(arg, &op)) == 0)
            *at = began + (uint64_t)(text.at - part.data);
        if (r != 0 || *at > began)
            continue;
        if (wanted < most || most >= LARGEST_BYTES)
            r = -EBADMSG;
        most *= 2; /* the operation may be larger than what was read */
    }
    buf_done(&part);
    return r;
}

void spool_file_remove(struct spool_file *f)
{
    if (f->fd < 0)
        return;
    unlink(f->path);
    close(f->fd);
    f->fd = -1;
    f->length = f->sent = 0;
}

void spool_file_done(struct spool_file *f)
{
    if (f->fd >= 0 && !spool_file_has_unsent(f))
        spool_file_remove(f);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    free(f->path);
    f->path = NULL;
    buf_done(&f->head);
}
