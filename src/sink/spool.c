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

/* ==== Spool ops =============================================================================== */

static const char *const words[SPOOL_OPS] = {
    [SPOOL_HEAD] = "toll-spool",   [SPOOL_TO] = "to",
    [SPOOL_CREATE] = "create",     [SPOOL_EXPERIMENT] = "experiment",
    [SPOOL_RUN] = "run",           [SPOOL_BATCH] = "batch",
    [SPOOL_ARTIFACT] = "artifact", [SPOOL_UPDATE] = "update",
    [SPOOL_SAMPLES] = "samples",   [SPOOL_SENT] = "sent",
    [SPOOL_REQUEST] = "request",   [SPOOL_SKIP] = "skip",
    [SPOOL_PARAMS] = "params",
};

void spool_ops_add(struct buf *b, enum spool_op_kind kind, const char *name, const char *body,
                   size_t length)
{
    buf_printf(b, "%s %s %llu\n", words[kind], *name ? name : "-", (unsigned long long)length);
    buf_add(b, body, length);
    buf_putc(b, '\n');
}

/* The next word of a line and the blank behind it. */
static bool cut_word(struct scan *line, struct scan *ret)
{
    const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
    if (!blank || blank == line->at)
        return false;
    *ret = scan_text(line->at, (size_t)(blank - line->at));
    line->at = blank + 1;
    return true;
}

static bool spool_ops_is_word(const struct scan *s, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(s->end - s->at) == length && memcmp(s->at, word, length) == 0;
}

int spool_ops_next(struct scan *text, struct spool_op *ret)
{
    struct scan at = *text, line, word;
    uint64_t length;
    if (scan_done(text))
        return 0;
    const char *newline = memchr(at.at, '\n', (size_t)(at.end - at.at));
    if (!newline || !scan_line(&at, &line) || !cut_word(&line, &word) ||
        !cut_word(&line, &ret->name) || !scan_u64(&line, &length) || !scan_done(&line))
        return -EBADMSG;
    unsigned kind = 0;
    while (kind < SPOOL_OPS && !spool_ops_is_word(&word, words[kind]))
        kind++;
    size_t left = (size_t)(at.end - at.at);
    if (kind == SPOOL_OPS || left < 1 || length > left - 1 || at.at[length] != '\n')
        return -EBADMSG;
    ret->kind = kind;
    if (spool_ops_is_word(&ret->name, "-"))
        ret->name.at = ret->name.end;
    ret->body = scan_text(at.at, length);
    text->at = at.at + length + 1;
    return 1;
}

/* ==== Spool =================================================================================== */

enum { FIRST_BYTES = 1 << 20, LARGEST_BYTES = 256 << 20, NUMBERS = 1000 };

/* ---- Where it is ----------------------------------------------------------------------------- */

/* $XDG_STATE_HOME/toll, ~/.local/state/toll; where there is no home, the directory for what may be
 * lost. */
static void spool_add_directory(struct buf *b)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/')
        buf_printf(b, "%s/toll", state);
    else if (home && *home == '/')
        buf_printf(b, "%s/.local/state/toll", home);
    else
        buf_printf(b, "/tmp/toll-%u", (unsigned)geteuid());
}

/* What a user named has to be possible before anything runs: a mistyped directory is not made. */
static int spool_check_place(const char *kind, const char *file, struct toll_error *e)
{
    struct stat st;
    const char *slash = strrchr(file, '/');
    char *directory = !slash          ? strdup(".")
                      : slash == file ? strdup("/")
                                      : strndup(file, (size_t)(slash - file));
    if (!directory)
        return err_set(e, -ENOMEM, "no memory for an output");
    int r = 0;
    if ((slash && !slash[1]) || (stat(file, &st) == 0 && S_ISDIR(st.st_mode)))
        r = err_set(e, -EINVAL, "the option spool of %s takes a file: '%s' is a directory", kind,
                    file);
    else if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
        r = err_set(e, -EINVAL, "the option spool of %s takes a file that can be made: '%s': %s",
                    kind, directory, strerror(errno));
    free(directory);
    return r;
}

int spool_init(struct spool *s, const char *kind, const char *file, const char *id,
               struct toll_error *e)
{
    struct buf b = {0};
    *s = (struct spool){.fd = -1, .is_ours = !file};
    if (file && strcmp(file, "none") == 0)
        return 0;
    if (file) {
        int r = spool_check_place(kind, file, e);
        if (r < 0)
            return r;
        buf_puts(&b, file);
    } else {
        spool_add_directory(&b);
        buf_printf(&b, "/%s-%s.spool", kind, id);
    }
    if (buf_failed(&b)) {
        buf_done(&b);
        return err_set(e, -ENOMEM, "no memory for an output");
    }
    s->path = b.data;
    return 0;
}

/* Whether others may make directories where this one is. */
static bool is_shared(const char *directory)
{
    struct stat st;
    const char *slash = strrchr(directory, '/');
    CLEANUP_FREE char *above = strndup(directory, slash ? (size_t)(slash + 1 - directory) : 0);
    return !above || stat(above, &st) < 0 || (st.st_mode & S_IWOTH) ||
           strncmp(directory, "/tmp/", 5) == 0;
}

/* The directories above it, as far as they are missing, for their owner alone. The last one has to
 * be ours where others may have made it before, as in /tmp. */
static int make_directories(const char *path)
{
    struct stat st;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    for (char *c = copy; (c = strchr(c + 1, '/'));) {
        *c = '\0';
        mkdir(copy, 0700);
        *c = '/';
    }
    *strrchr(copy, '/') = '\0';
    int r = lstat(copy, &st) < 0 ? -errno : 0;
    if (r == 0 && is_shared(copy) &&
        (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))))
        r = -EPERM;
    free(copy);
    return r;
}

/* ---- Writing --------------------------------------------------------------------------------- */

bool spool_has_some(const struct spool *s)
{
    return s->fd >= 0 && s->sent < s->length;
}

/* A file that is there already is somebody's, and so is a link. Nor is one ours that somebody has
 * found before we had locked it. */
static int make_file(const char *path)
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

static int make_numbered_file(struct spool *s)
{
    int fd = make_file(s->path);
    for (unsigned i = 1; fd == -EEXIST && i <= NUMBERS; i++) {
        struct buf b = {0};
        buf_printf(&b, "%s.%u", s->path, i);
        fd = buf_failed(&b) ? -ENOMEM : make_file(b.data);
        if (fd < 0) {
            buf_done(&b);
            continue;
        }
        free(s->path);
        s->path = b.data;
    }
    return fd;
}

static int spool_make(struct spool *s)
{
    int r = s->is_ours ? make_directories(s->path) : 0;
    int fd = r < 0 ? r : make_numbered_file(s);
    if (fd < 0)
        return fd;
    r = file_write_quietly(fd, s->head.data, s->head.length, NULL);
    if (r < 0) {
        unlink(s->path);
        close(fd);
        return r;
    }
    s->fd = fd;
    s->length = s->sent = s->head.length;
    return 0;
}

int spool_add(struct spool *s, const char *data, size_t length, bool is_last)
{
    if (!s->path)
        return -ENOENT;
    uint64_t before = s->fd < 0 ? s->head.length : s->length;
    if (s->most_bytes && !is_last && before + length > s->most_bytes)
        return -EFBIG;
    int r = s->fd < 0 ? spool_make(s) : 0;
    if (r < 0)
        return r;
    r = file_write_quietly(s->fd, data, length, NULL);
    if (r < 0) {
        if (ftruncate(s->fd, (off_t)s->length) == 0)
            lseek(s->fd, (off_t)s->length, SEEK_SET);
        return r;
    }
    s->length += length;
    return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

int spool_open(struct spool *s, const char *path)
{
    struct stat st;
    *s = (struct spool){.fd = output_file_open_existing(path, NULL)};
    if (s->fd < 0)
        return s->fd;
    int r = flock(s->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY
            : fstat(s->fd, &st) < 0                                     ? -errno
                                                                        : 0;
    if (r == 0 && !(s->path = strdup(path)))
        r = -ENOMEM;
    if (r < 0)
        close_p(&s->fd);
    else
        s->length = (uint64_t)st.st_size;
    return r;
}

/* So much of the file, in place of what is in ret. */
static int spool_read_part(const struct spool *s, uint64_t at, size_t wanted, struct buf *ret)
{
    size_t room;
    buf_clear(ret);
    char *to = buf_room(ret, wanted, &room);
    if (!to)
        return -ENOMEM;
    while (ret->length < wanted) {
        ssize_t n = pread(s->fd, to + ret->length, wanted - ret->length, (off_t)(at + ret->length));
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        ret->length += (size_t)n;
    }
    return 0;
}

int spool_each(const struct spool *s, uint64_t *at,
               int (*visit)(void *arg, const struct spool_op *op), void *arg)
{
    struct buf part = {0};
    size_t most = FIRST_BYTES;
    int r = 0;
    while (r == 0 && *at < s->length) {
        uint64_t began = *at;
        size_t wanted = min_u64(s->length - began, most);
        r = spool_read_part(s, began, wanted, &part);
        struct scan text = scan_text(part.data, r == 0 ? wanted : 0);
        struct spool_op op;
        while (r == 0 && spool_ops_next(&text, &op) > 0 && (r = visit(arg, &op)) == 0)
            *at = began + (uint64_t)(text.at - part.data);
        if (r != 0 || *at > began)
            continue;
        if (wanted < most || most >= LARGEST_BYTES)
            r = -EBADMSG;
        most *= 2; /* one that is larger than what was read, perhaps */
    }
    buf_done(&part);
    return r;
}

void spool_remove(struct spool *s)
{
    if (s->fd < 0)
        return;
    unlink(s->path);
    close(s->fd);
    s->fd = -1;
    s->length = s->sent = 0;
}

void spool_done(struct spool *s)
{
    if (s->fd >= 0 && !spool_has_some(s))
        spool_remove(s);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    free(s->path);
    s->path = NULL;
    buf_done(&s->head);
}
