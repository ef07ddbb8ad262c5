/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"

#include "base/err.h"
#include "base/memory.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ==== Sysroot ================================================================================= */

static int open_directory(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* A pid namespace may have been made without mounting its own proc: then the numbers there are not
 * those that this process knows. */
static void sysroot_set_pids(struct sysroot *s)
{
    char name[32];
    ssize_t n = s->live ? readlinkat(s->proc, "self", name, sizeof name) : 0;
    struct scan self = scan_text(name, n > 0 ? (size_t)n : 0);
    uint64_t pid;
    bool is_own = scan_u64(&self, &pid) && scan_done(&self) && pid == (uint64_t)getpid();
    s->pids = !s->live || is_own ? s->proc : -1;
}

const char *sysroot_why_no_pids(const struct sysroot *s)
{
    if (s->pids >= 0)
        return NULL;
    return s->proc < 0 || faccessat(s->proc, "stat", F_OK, 0) < 0
               ? "/proc is not mounted"
               : "/proc belongs to another pid namespace";
}

int sysroot_open_at(struct sysroot *ret, int at, const char *path, bool live)
{
    struct sysroot s = {.live = live, .proc = -1, .pids = -1, .sys = -1};
    s.root = open_directory(at, path);
    if (s.root < 0)
        return s.root;
    s.proc = open_directory(s.root, "proc");
    sysroot_set_pids(&s);
    s.sys = open_directory(s.root, "sys");
    int r = s.proc < 0 ? s.proc : 0;
    if (r < 0)
        sysroot_close(&s);
    else
        *ret = s;
    return r;
}

int sysroot_open(struct sysroot *ret, const char *path, struct toll_error *e)
{
    bool live = !path || strcmp(path, "/") == 0;
    int r = sysroot_open_at(ret, AT_FDCWD, live ? "/" : path, live);
    if (r == 0)
        return 0;
    return live
               ? err_set(e, r, "cannot open /proc: %s", strerror(-r))
               : err_set(e, r, "cannot open '%s/proc': %s (expected a directory with proc and sys)",
                         path, strerror(-r));
}

int sysroot_open_proc(struct sysroot *ret, struct toll_error *e)
{
    struct sysroot s = {.live = true, .sys = -1, .root = -1};
    s.proc = open_directory(AT_FDCWD, "/proc");
    bool is_absent = s.proc == -ENOENT || s.proc == -ENOTDIR || s.proc == -EACCES;
    if (s.proc < 0 && !is_absent)
        return err_set(e, s.proc, "cannot open /proc: %s", strerror(-s.proc));
    sysroot_set_pids(&s);
    *ret = s;
    return 0;
}

void sysroot_open_rest(struct sysroot *s)
{
    if (s->root < 0)
        s->root = s->proc < 0 ? open_directory(AT_FDCWD, "/") : open_directory(s->proc, "..");
    if (s->sys < 0 && s->root >= 0)
        s->sys = open_directory(s->root, "sys");
}

void sysroot_copy(struct sysroot *ret, const struct sysroot *s)
{
    *ret = (struct sysroot){
        .live = s->live, /* of a negative descriptor the copy is negative, too */
        .proc = fcntl(s->proc, F_DUPFD_CLOEXEC, 0),
        .sys = fcntl(s->sys, F_DUPFD_CLOEXEC, 0),
        .root = fcntl(s->root, F_DUPFD_CLOEXEC, 0),
    };
    ret->pids = s->pids >= 0 ? ret->proc : -1;
}

void sysroot_close(struct sysroot *s)
{
    close_p(&s->proc);
    s->pids = -1;
    close_p(&s->sys);
    close_p(&s->root);
}

/* ==== File ==================================================================================== */

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

enum { CHUNK_BYTES = 4096, MOST_BYTES = 16 << 20 };

int file_reread_whole(int fd, size_t longest_line, struct buf *ret)
{
    buf_clear(ret);
    while (ret->length <= MOST_BYTES) {
        size_t room = 0;
        char *at = buf_room(ret, CHUNK_BYTES, &room);
        if (!at)
            return -ENOMEM;
        ssize_t n = pread(fd, at, room, (off_t)ret->length);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n < 0)
            continue;
        ret->length += (size_t)n;
        if (n == 0 || ((size_t)n < room && (size_t)n + longest_line <= CHUNK_BYTES))
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
    struct held_signals held;
    file_signals_hold(&held);
    int r = file_write_all(fd, data, length, ret_written);
    file_signals_release(&held);
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

static void file_count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(ssize_t *)arg;
}

ssize_t file_count_entries(int dir)
{
    ssize_t count = 0;
    int e = file_each_entry(dir, file_count_entry, &count);
    return e < 0 ? e : count;
}

struct entry_names {
    char **list; /* owned */
    size_t count;
    bool failed;
};

static void entry_names_add(void *arg, const char *name)
{
    struct entry_names *n = arg;
    char *copy = ARRAY_GROW(n->list, n->count) ? strdup(name) : NULL;
    if (copy)
        n->list[n->count++] = copy;
    else
        n->failed = true;
}

/* Numbers by their size: a shorter one is smaller. */
static int entry_names_compare(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t x_length = strlen(x), y_length = strlen(y);
    return x_length != y_length ? (x_length < y_length ? -1 : 1) : strcmp(x, y);
}

int file_each_entry_sorted(int dir, void (*visit)(void *arg, const char *name), void *arg)
{
    struct entry_names names = {0};
    int r = file_each_entry(dir, entry_names_add, &names);
    if (names.count)
        qsort(names.list, names.count, sizeof *names.list, entry_names_compare);
    for (size_t i = 0; i < names.count; i++) {
        if (r == 0 && !names.failed)
            visit(arg, names.list[i]);
        free(names.list[i]);
    }
    free(names.list);
    return names.failed ? -ENOMEM : r;
}

struct record_search {
    int dir;
    char **names;
    size_t count;
    bool has_failed;
};

static void record_search_visit(void *arg, const char *name)
{
    struct record_search *s = arg;
    struct stat st;
    if (name[0] == '.' ||
        !(ends_with(name, ".jsonl") || ends_with(name, ".sqlite") || ends_with(name, ".db")) ||
        fstatat(s->dir, name, &st, 0) < 0 || !S_ISREG(st.st_mode))
        return;
    char *copy = strdup(name);
    if (copy && list_append(&s->names, copy)) {
        s->count++;
        return;
    }
    free(copy);
    s->has_failed = true;
}

static int record_search_compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

int file_list_records(int dir, char ***ret)
{
    struct record_search s = {.dir = dir};
    int r = file_each_entry(dir, record_search_visit, &s);
    r = s.has_failed ? -ENOMEM : r;
    if (r == 0) {
        if (s.count)
            qsort(s.names, s.count, sizeof *s.names, record_search_compare);
        *ret = s.names;
        return 0;
    }
    for (size_t i = 0; i < s.count; i++)
        free(s.names[i]);
    free(s.names);
    return r;
}

void file_put_path(struct buf *b, const char *directory, const char *name)
{
    size_t length = strlen(directory);
    bool has_slash = length && directory[length - 1] == '/';
    if (strcmp(directory, ".") != 0)
        buf_printf(b, "%s%s", directory, has_slash ? "" : "/");
    buf_puts(b, name);
}

bool file_is_directory(const char *path)
{
    struct stat st;
    return ends_with(path, "/") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* ==== Open files ============================================================================== */

static int open_files_compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static bool open_files_number_of(const char *name, int *ret)
{
    struct scan s = scan_string(name);
    uint64_t number;
    if (!scan_u64(&s, &number) || !scan_done(&s) || number > INT32_MAX)
        return false;
    *ret = (int)number;
    return true;
}

struct open_files_listing {
    struct open_files files;
    int dir; /* the one that lists them, which is left out */
    bool failed;
};

static void open_files_add(void *arg, const char *name)
{
    struct open_files_listing *l = arg;
    int fd;
    if (l->failed || !open_files_number_of(name, &fd) || fd == l->dir)
        return;
    l->failed = !ARRAY_GROW(l->files.fds, l->files.count);
    if (!l->failed)
        l->files.fds[l->files.count++] = fd;
}

void open_files_note(struct open_files *f)
{
    open_files_done(f);
    CLEANUP_CLOSE int dir = open_directory(AT_FDCWD, "/proc/self/fd");
    struct open_files_listing l = {.dir = dir};
    if (dir < 0 || file_each_entry(dir, open_files_add, &l) < 0 || l.failed)
        open_files_done(&l.files);
    if (l.files.count)
        qsort(l.files.fds, l.files.count, sizeof *l.files.fds, open_files_compare);
    *f = l.files;
}

size_t open_files_count(void)
{
    CLEANUP_CLOSE int dir = open_directory(AT_FDCWD, "/proc/self/fd");
    ssize_t count = dir < 0 ? 0 : file_count_entries(dir);
    return count > 0 ? (size_t)count - 1 : 0; /* without the one that lists them */
}

static void open_files_hide(void *arg, const char *name)
{
    const struct open_files *before = *(const struct open_files **)arg;
    int fd;
    if (!open_files_number_of(name, &fd) ||
        bsearch(&fd, before->fds, before->count, sizeof *before->fds, open_files_compare))
        return;
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC))
        fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

void open_files_hide_new(const struct open_files *f)
{
    CLEANUP_CLOSE int dir = f->count ? open_directory(AT_FDCWD, "/proc/self/fd") : -1;
    if (dir >= 0)
        file_each_entry(dir, open_files_hide, &f);
}

void open_files_done(struct open_files *f)
{
    free(f->fds);
    *f = (struct open_files){0};
}

/* ==== Line reader ============================================================================= */

enum { BLOCK = 256 * 1024 };

void line_reader_init(struct line_reader *l, int fd, size_t longest)
{
    *l = (struct line_reader){.fd = fd, .longest = longest};
}

void line_reader_done(struct line_reader *l)
{
    buf_done(&l->block);
}

/* Moves what is left to the front and reads more after it. 1, 0 at the end of the file, or -errno.
 */
static int line_reader_fill(struct line_reader *l)
{
    struct buf *b = &l->block;
    size_t left = b->length - l->at, room;
    if (l->at) {
        memmove(b->data, b->data + l->at, left);
        b->length = left;
        l->at = 0;
    }
    char *to = buf_room(b, BLOCK, &room);
    if (!to)
        return -ENOMEM;
    ssize_t n;
    do
        n = read(l->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    b->length += (size_t)n;
    return n > 0;
}

int line_reader_next(struct line_reader *l, const char **ret, size_t *ret_length,
                     bool *ret_is_whole)
{
    size_t seen = 0; /* bytes of the line in which there is no newline */
    const char *newline = NULL;
    for (;;) {
        size_t left = l->block.length - l->at;
        if (left > seen)
            newline = memchr(l->block.data + l->at + seen, '\n', left - seen);
        seen = newline ? (size_t)(newline - l->block.data) - l->at : left;
        if (seen > l->longest)
            return -EMSGSIZE;
        if (newline || l->at_end)
            break;
        int r = line_reader_fill(l);
        if (r < 0)
            return r;
        l->at_end = r == 0;
    }
    if (!newline && !seen)
        return 0;
    *ret = l->block.data + l->at;
    *ret_length = seen;
    *ret_is_whole = newline != NULL;
    l->at += seen + (newline != NULL);
    l->number++;
    return 1;
}
