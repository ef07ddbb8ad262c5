/* SPDX-License-Identifier: MIT */
#include "base/sysroot.h"

#include "base/err.h"
#include "base/scan.h"

#include <fcntl.h>
#include <string.h>

static int open_directory(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Whether the numbers in it are those that this process knows: a pid namespace may have been made
 * without mounting its own proc. */
static bool is_own_proc(int proc)
{
    char name[32];
    ssize_t n = readlinkat(proc, "self", name, sizeof name);
    struct scan s = scan_text(name, n > 0 ? (size_t)n : 0);
    uint64_t pid;
    return scan_u64(&s, &pid) && scan_done(&s) && pid == (uint64_t)getpid();
}

static void set_pids(struct sysroot *s)
{
    s->pids = !s->live || is_own_proc(s->proc) ? s->proc : -1;
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
    set_pids(&s);
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
    return r < 0 ? err_set(e, r, "cannot open %s/proc: %s", live ? "" : path, strerror(-r)) : 0;
}

int sysroot_open_proc(struct sysroot *ret, struct toll_error *e)
{
    struct sysroot s = {.live = true, .sys = -1, .root = -1};
    s.proc = open_directory(AT_FDCWD, "/proc");
    bool is_absent = s.proc == -ENOENT || s.proc == -ENOTDIR || s.proc == -EACCES;
    if (s.proc < 0 && !is_absent)
        return err_set(e, s.proc, "cannot open /proc: %s", strerror(-s.proc));
    set_pids(&s);
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

static int copy_one(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void sysroot_copy(struct sysroot *ret, const struct sysroot *s)
{
    *ret = (struct sysroot){
        .live = s->live,
        .proc = copy_one(s->proc),
        .pids = -1,
        .sys = copy_one(s->sys),
        .root = copy_one(s->root),
    };
    if (s->pids >= 0)
        ret->pids = ret->proc;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void sysroot_close(struct sysroot *s)
{
    close_one(&s->proc);
    s->pids = -1;
    close_one(&s->sys);
    close_one(&s->root);
}
