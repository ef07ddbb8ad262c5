/* SPDX-License-Identifier: MIT */
#include "collect/process_reader.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Left for outputs, timers and files that are opened and closed at once. */
enum { FDS_IN_RESERVE = 32 };

/* Each takes some kilobytes of the kernel. */
enum { FDS_AT_MOST = 8192 };

static unsigned fds_to_keep(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    return (unsigned)min_u64(left_u64(limit.rlim_cur, FDS_IN_RESERVE), FDS_AT_MOST);
}

int process_reader_init(struct process_reader *r, const struct sysroot *root, uint64_t wanted)
{
    long ticks = root->live ? sysconf(_SC_CLK_TCK) : 100;
    long page = root->live ? sysconf(_SC_PAGESIZE) : 4096;
    struct stat fd_dir;
    uint64_t own_cpu;
    *r = (struct process_reader){
        .root = root,
        .wanted = wanted,
        .ns_per_tick = NS_PER_SECOND / (uint64_t)(ticks > 0 ? ticks : 100),
        .page_bytes = (uint64_t)(page > 0 ? page : 4096),
        .has_clock = root->live && clock_process_cpu(getpid(), &own_cpu) == 0,
        .fd_dir_has_size = root->live && fstatat(root->proc, "self/fd", &fd_dir, 0) == 0 &&
                           fd_dir.st_size > 0,
        .text = malloc(PROCESS_TEXT_BYTES),
    };
    fd_cache_init(&r->cache, 0);
    return r->text ? 0 : -ENOMEM;
}

void process_reader_keep_files(struct process_reader *r)
{
    r->cache.limit = fds_to_keep();
}

void process_reader_done(struct process_reader *r)
{
    own_thread_done(&r->own);
    free(r->text);
    r->text = NULL;
}

void process_source_init(struct process_source *s)
{
    *s = (struct process_source){.threads = 1};
    kept_fds_init(&s->kept);
}

void process_source_done(struct process_source *s, struct process_reader *r)
{
    fd_cache_drop(&r->cache, &s->kept);
}

int process_open(struct process_reader *r, pid_t pid, const char *name, int flags)
{
    char path[PROCESS_PATH_BYTES];
    snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    int fd = openat(r->root->pids, path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && r->cache.used) {
        fd_cache_shrink(&r->cache);
        fd = openat(r->root->pids, path, O_RDONLY | O_CLOEXEC | flags);
    }
    return fd < 0 ? -errno : fd;
}

ssize_t process_read_once(struct process_reader *r, pid_t pid, const char *name)
{
    CLEANUP_CLOSE int fd = process_open(r, pid, name, 0);
    return fd < 0 ? fd : file_reread(fd, r->text, PROCESS_TEXT_BYTES);
}

ssize_t process_read_kept(struct process_reader *r, struct process_source *s, pid_t pid,
                          enum kept_file file, const char *name, bool changed)
{
    if (s->kept.fds[file] >= 0)
        return file_reread(s->kept.fds[file], r->text, PROCESS_TEXT_BYTES);

    CLEANUP_CLOSE int fd = process_open(r, pid, name, 0);
    if (fd < 0)
        return fd;
    ssize_t n = file_reread(fd, r->text, PROCESS_TEXT_BYTES);
    if (n > 0 && fd_cache_admits(&r->cache, &s->kept, changed))
        fd_cache_keep(&r->cache, &s->kept, file, take_fd(&fd));
    return n;
}

struct thread_walk {
    void (*visit)(void *arg, pid_t thread);
    void *arg;
};

static void visit_if_number(void *arg, const char *name)
{
    const struct thread_walk *w = arg;
    struct scan s = scan_string(name);
    uint64_t thread;
    if (scan_u64(&s, &thread))
        w->visit(w->arg, (pid_t)thread);
}

int process_each_thread(struct process_reader *r, pid_t pid, void (*visit)(void *arg, pid_t thread),
                        void *arg)
{
    CLEANUP_CLOSE int dir = process_open(r, pid, "task", O_DIRECTORY);
    if (dir < 0)
        return dir;
    struct thread_walk w = {.visit = visit, .arg = arg};
    return r->root->live ? file_each_entry(dir, visit_if_number, &w)
                         : file_each_entry_sorted(dir, visit_if_number, &w);
}
