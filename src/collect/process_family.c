/* SPDX-License-Identifier: MIT
 * Who belongs to whom: the children of a process, and all processes of the machine. */
#include "base/file.h"
#include "collect/process_visit.h"
#include "parse/pid_stat.h"
#include "parse/pid_status.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

struct family {
    struct process_reader *r;
    pid_t pid;
    void (*meet)(void *arg, pid_t pid);
    void *arg;
    int result;
};

/* "1235 1240 1311 ", a piece at a time when there are many. */
static int meet_listed(struct family *f, int fd)
{
    char *text = f->r->text;
    size_t carried = 0; /* digits of a number that the last piece cut */
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(fd, text + carried, PROCESS_TEXT_BYTES - carried, at);
        if (n < 0)
            return -errno;
        at += n;
        struct scan s = scan_text(text, carried + (size_t)n);
        const char *rest = s.at;
        for (uint64_t child; scan_u64(&s, &child); rest = s.at) {
            if (scan_done(&s) && n > 0)
                break;
            f->meet(f->arg, (pid_t)child);
        }
        if (n == 0)
            return 0;
        carried = (size_t)(s.end - rest);
        if (carried >= PROCESS_TEXT_BYTES / 2)
            return -EBADMSG;
        memmove(text, rest, carried);
    }
}

bool process_lists_children(struct process_reader *r, pid_t pid)
{
    char path[PROCESS_PATH_BYTES];
    snprintf(path, sizeof path, "%d/task/%d/children", (int)pid, (int)pid);
    return faccessat(r->root->pids, path, R_OK, 0) == 0;
}

static int read_stat(struct process_reader *r, pid_t pid, struct pid_stat *ret)
{
    ssize_t n = process_read_once(r, pid, "stat");
    return n < 0 ? (int)n : parse_pid_stat(scan_text(r->text, (size_t)n), ret);
}

pid_t process_parent(struct process_reader *r, pid_t pid)
{
    struct pid_stat st;
    int e = read_stat(r, pid, &st);
    return e < 0 ? e : st.parent;
}

bool process_is_leaving(struct process_reader *r, pid_t pid)
{
    struct pid_stat st;
    return read_stat(r, pid, &st) < 0 || st.is_leaving;
}

bool process_is_above(struct process_reader *r, pid_t above, pid_t pid)
{
    enum { HOPS_AT_MOST = 1000 }; /* families change while they are asked */
    for (unsigned hops = 0; pid > 0 && hops < HOPS_AT_MOST; hops++) {
        if (pid == above)
            return true;
        pid = process_parent(r, pid);
    }
    return false;
}

int process_identify(struct process_reader *r, struct process *p)
{
    struct pid_stat st;
    int e = read_stat(r, p->entity.pid, &st);
    if (e < 0)
        return e;
    p->entity.parent = st.parent;
    p->entity.start_ticks = st.start_ticks;
    p->group = st.group;
    p->session = st.session;
    return 0;
}

int process_user(struct process_reader *r, pid_t pid, uid_t *ret)
{
    ssize_t n = process_read_once(r, pid, "status");
    return n < 0 ? (int)n : parse_pid_user(scan_text(r->text, (size_t)n), ret);
}

int process_command_line(struct process_reader *r, pid_t pid, char **ret)
{
    ssize_t n = process_read_once(r, pid, "cmdline");
    if (n == 0) /* a thread of the kernel, or a zombie */
        n = process_read_once(r, pid, "comm");
    if (n < 0)
        return (int)n;
    size_t length = min_u64((uint64_t)n, PROCESS_TEXT_BYTES - 1);
    while (length && (!r->text[length - 1] || r->text[length - 1] == '\n'))
        length--;
    for (size_t i = 0; i < length; i++)
        if (!r->text[i])
            r->text[i] = ' ';
    r->text[length] = '\0';
    *ret = r->text;
    return 0;
}

int process_compare_memory(const struct process_reader *r, pid_t one, pid_t other)
{
    if (!r->root->live)
        return -ENOSYS;
    long order = syscall(SYS_kcmp, one, other, KCMP_VM, 0UL, 0UL);
    return order < 0 ? -errno : order == 0;
}

static void meet_of_thread(void *arg, pid_t thread)
{
    struct family *f = arg;
    char name[PROCESS_PATH_BYTES];
    snprintf(name, sizeof name, "task/%d/children", (int)thread);
    CLEANUP_CLOSE int fd = process_open(f->r, f->pid, name, 0);
    f->result = fd < 0 ? fd : meet_listed(f, fd);
}

static int meet_of_only_thread(struct family *f, struct process_source *s)
{
    if (s->kept.fds[KEPT_CHILDREN] >= 0)
        return meet_listed(f, s->kept.fds[KEPT_CHILDREN]);
    char name[PROCESS_PATH_BYTES];
    snprintf(name, sizeof name, "task/%d/children", (int)f->pid);
    CLEANUP_CLOSE int fd = process_open(f->r, f->pid, name, 0);
    if (fd < 0)
        return fd;
    int e = meet_listed(f, fd);
    if (e == 0 && fd_cache_admits(&f->r->cache, &s->kept, true))
        fd_cache_keep(&f->r->cache, &s->kept, KEPT_CHILDREN, take_fd(&fd));
    return e;
}

int process_children(struct process_reader *r, struct process_source *s, pid_t pid,
                     void (*meet)(void *arg, pid_t child), void *arg)
{
    struct family f = {.r = r, .pid = pid, .meet = meet, .arg = arg};
    if (s->threads <= 1)
        return meet_of_only_thread(&f, s);
    int e = process_each_thread(r, pid, meet_of_thread, &f);
    return e < 0 ? e : f.result;
}

static void meet_if_number(void *arg, const char *name)
{
    const struct family *f = arg;
    struct scan s = scan_string(name);
    uint64_t pid;
    if (scan_u64(&s, &pid) && scan_done(&s))
        f->meet(f->arg, (pid_t)pid);
}

int process_scan(struct process_reader *r, void (*meet)(void *arg, pid_t pid), void *arg)
{
    struct family f = {.r = r, .meet = meet, .arg = arg};
    return r->root->live ? file_each_entry(r->root->pids, meet_if_number, &f)
                         : file_each_entry_sorted(r->root->pids, meet_if_number, &f);
}
