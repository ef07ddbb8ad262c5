/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include "base/util.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

ssize_t file_reread(int fd, char *buf, size_t capacity)
{
    ssize_t n;
    do
        n = pread(fd, buf, capacity, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

ssize_t file_read_at(int dir, const char *path, char *buf, size_t capacity)
{
    CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : file_reread(fd, buf, capacity);
}

enum { PIECE_BYTES = 4096, MOST_BYTES = 16 << 20 };

int file_reread_whole(int fd, size_t longest_line, struct buf *ret)
{
    buf_clear(ret);
    while (ret->length <= MOST_BYTES) {
        size_t room = 0;
        char *at = buf_room(ret, PIECE_BYTES, &room);
        if (!at)
            return -ENOMEM;
        ssize_t n = pread(fd, at, room, (off_t)ret->length);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n < 0)
            continue;
        ret->length += (size_t)n;
        if (n == 0 || ((size_t)n < room && (size_t)n + longest_line <= PIECE_BYTES))
            return 0;
    }
    return -EFBIG;
}

int file_read_whole_at(int dir, const char *path, size_t longest_line, struct buf *ret)
{
    CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : file_reread_whole(fd, longest_line, ret);
}

int file_write_all(int fd, const char *data, size_t length, size_t *ret_written)
{
    size_t written = 0;
    int r = 0;
    while (written < length && r == 0) {
        ssize_t n = write(fd, data + written, length - written);
        if (n >= 0)
            written += (size_t)n;
        else if (errno != EINTR)
            r = -errno;
    }
    if (ret_written)
        *ret_written = written;
    return r;
}

void file_signals_hold(struct held_signals *h)
{
    sigset_t deadly;
    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    sigpending(&h->pending);
    pthread_sigmask(SIG_BLOCK, &deadly, &h->before);
}

void file_signals_release(const struct held_signals *h)
{
    static const int deadly[] = {SIGPIPE, SIGXFSZ};
    static const struct timespec now;
    sigset_t pending, one;
    sigpending(&pending);
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
        sigemptyset(&one);
        sigaddset(&one, deadly[i]);
        if (!sigismember(&h->before, deadly[i]) && !sigismember(&h->pending, deadly[i]) &&
            sigismember(&pending, deadly[i]))
            sigtimedwait(&one, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &h->before, NULL);
}

int file_write_quietly(int fd, const char *data, size_t length, size_t *ret_written)
{
    sigset_t deadly, before;
    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    int r = file_write_all(fd, data, length, ret_written);
    int sent = r == -EPIPE ? SIGPIPE : r == -EFBIG ? SIGXFSZ : 0;
    if (sent && !sigismember(&before, sent)) {
        static const struct timespec now;
        sigset_t ours;
        sigemptyset(&ours);
        sigaddset(&ours, sent);
        sigtimedwait(&ours, NULL, &now); /* it was for us */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

bool file_limit_is_below(unsigned enough)
{
    struct rlimit files;
    return getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur < enough;
}

void file_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* What SYS_getdents64 gives; C libraries name it in different ways, or not at all. */
struct kernel_dirent {
    uint64_t inode;
    int64_t offset;
    uint16_t record_length;
    uint8_t type;
    char name[];
};

int file_each_entry(int dir, void (*visit)(void *arg, const char *name), void *arg)
{
    alignas(struct kernel_dirent) char entries[4096];
    if (lseek(dir, 0, SEEK_SET) < 0)
        return -errno;
    long n;
    while ((n = syscall(SYS_getdents64, dir, entries, sizeof entries)) > 0) {
        for (long at = 0; at < n;) {
            const struct kernel_dirent *d = (const struct kernel_dirent *)(entries + at);
            if (d->name[0] != '.')
                visit(arg, d->name);
            at += d->record_length;
        }
    }
    return n < 0 ? -errno : 0;
}

struct names {
    char **list; /* owned */
    size_t count;
    bool failed;
};

static void collect_name(void *arg, const char *name)
{
    struct names *n = arg;
    char **longer = realloc(n->list, (n->count + 1) * sizeof *longer);
    char *copy = strdup(name);
    if (longer)
        n->list = longer;
    if (longer && copy)
        n->list[n->count++] = copy;
    else
        free(copy);
    n->failed |= !longer || !copy;
}

/* Numbers by their size: a shorter one is smaller. */
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t x_length = strlen(x), y_length = strlen(y);
    return x_length != y_length ? (x_length < y_length ? -1 : 1) : strcmp(x, y);
}

int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg)
{
    struct names names = {0};
    int r = file_each_entry(dir, collect_name, &names);
    if (names.count)
        qsort(names.list, names.count, sizeof *names.list, compare_names);
    for (size_t i = 0; i < names.count; i++) {
        if (r == 0 && !names.failed)
            visit(arg, names.list[i]);
        free(names.list[i]);
    }
    free(names.list);
    return names.failed ? -ENOMEM : r;
}

bool file_is_directory(const char *path)
{
    struct stat st;
    return ends_with(path, "/") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}
