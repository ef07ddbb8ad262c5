/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_spool.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { FIRST_BYTES = 1 << 20, LARGEST_BYTES = 256 << 20 };

/* $XDG_STATE_HOME/toll, ~/.local/state/toll; where there is no home, the directory for what may be
 * lost. */
static void add_directory(struct buf *b)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/')
        buf_printf(b, "%s/toll", state);
    else if (home && *home == '/')
        buf_printf(b, "%s/.local/state/toll", home);
    else
        buf_printf(b, "/tmp/toll-%u", (unsigned)geteuid());
}

int mlflow_spool_init(struct mlflow_spool *s, const char *file, const char *run)
{
    struct buf b = {0};
    *s = (struct mlflow_spool){.fd = -1};
    if (file && strcmp(file, "none") == 0)
        return 0;
    if (file) {
        buf_puts(&b, file);
    } else {
        add_directory(&b);
        buf_printf(&b, "/mlflow-%s.spool", run);
    }
    if (buf_failed(&b)) {
        buf_done(&b);
        return -ENOMEM;
    }
    s->path = b.data;
    return 0;
}

bool mlflow_spool_has_some(const struct mlflow_spool *s)
{
    return s->fd >= 0 && s->sent < s->length;
}

/* The directories above it, as far as they are missing, for their owner alone. */
static void make_directories(const char *path)
{
    char *copy = strdup(path);
    for (char *c = copy; c && (c = strchr(c + 1, '/'));) {
        *c = '\0';
        mkdir(copy, 0700);
        *c = '/';
    }
    free(copy);
}

/* A file that is there already is somebody's: one with the same name that is not ours to write, or
 * a link, is left alone. */
static int make(struct mlflow_spool *s)
{
    make_directories(s->path);
    int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    flock(fd, LOCK_EX | LOCK_NB);
    int r = file_write_quietly(fd, s->head.data, s->head.length, NULL);
    if (r < 0) {
        unlink(s->path);
        close(fd);
        return r;
    }
    s->fd = fd;
    s->length = s->sent = s->head.length;
    return 0;
}

int mlflow_spool_add(struct mlflow_spool *s, const char *data, size_t length, uint64_t samples)
{
    int r = !s->path ? -ENOENT : s->fd < 0 ? make(s) : 0;
    if (r < 0)
        return r;
    r = file_write_quietly(s->fd, data, length, NULL);
    if (r < 0) {
        if (ftruncate(s->fd, (off_t)s->length) == 0)
            lseek(s->fd, (off_t)s->length, SEEK_SET);
        return r;
    }
    s->length += length;
    s->samples += samples;
    return 0;
}

int mlflow_spool_open(struct mlflow_spool *s, const char *path)
{
    struct stat st;
    *s = (struct mlflow_spool){.fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK)};
    if (s->fd < 0)
        return -errno;
    int r = flock(s->fd, LOCK_EX | LOCK_NB) < 0 ? -EBUSY : fstat(s->fd, &st) < 0 ? -errno : 0;
    if (r == 0 && !S_ISREG(st.st_mode))
        r = -EBADMSG;
    if (r == 0 && !(s->path = strdup(path)))
        r = -ENOMEM;
    if (r < 0)
        close_p(&s->fd);
    else
        s->length = (uint64_t)st.st_size;
    return r;
}

/* So much of the file, in place of what is in ret. */
static int read_part(const struct mlflow_spool *s, uint64_t at, size_t wanted, struct buf *ret)
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

int mlflow_spool_each(const struct mlflow_spool *s, uint64_t *at,
                      int (*visit)(void *arg, const struct mlflow_op *op), void *arg)
{
    struct buf part = {0};
    size_t most = FIRST_BYTES;
    int r = 0;
    while (r == 0 && *at < s->length) {
        uint64_t began = *at;
        size_t wanted = min_u64(s->length - began, most);
        r = read_part(s, began, wanted, &part);
        struct scan text = scan_text(part.data, r == 0 ? wanted : 0);
        struct mlflow_op op;
        while (r == 0 && mlflow_ops_next(&text, &op) > 0 && (r = visit(arg, &op)) == 0)
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

void mlflow_spool_remove(struct mlflow_spool *s)
{
    if (s->fd < 0)
        return;
    unlink(s->path);
    close(s->fd);
    s->fd = -1;
    s->length = s->sent = s->samples = 0;
}

void mlflow_spool_done(struct mlflow_spool *s)
{
    if (s->fd >= 0 && !mlflow_spool_has_some(s))
        mlflow_spool_remove(s);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    free(s->path);
    s->path = NULL;
    buf_done(&s->head);
}
