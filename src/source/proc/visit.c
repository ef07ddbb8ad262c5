/* SPDX-License-Identifier: MIT */
#include "source/proc/reader.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/process.h"
#include "base/text/buf.h"
#include "base/text/secrets.h"
#include "source/pid_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* ==== Process visit =========================================================================== */

/* The time between reading two clocks is not used by the program. */
#define OWN_NOISE_NS (20 * NS_PER_US)

int process_probe(struct process_reader *r, struct process_source *s, struct process *p)
{
    if (!r->has_clock) {
        s->has_run = true;
        return 1;
    }
    bool is_own = p->entity.pid == r->own.pid;
    uint64_t sampler_ns = is_own ? clock_thread_cpu() : 0, now_ns;
    if (clock_process_cpu(p->entity.pid, &now_ns) < 0)
        return -ESRCH;
    now_ns = left_u64(now_ns, sampler_ns);
    /* To wait for a child takes less than the noise, and what the child used is the parent's then.
     */
    bool is_same = is_own ? !own_thread_has_reaped(&r->own) && now_ns <= s->clock_ns + OWN_NOISE_NS
                          : now_ns == s->clock_ns;
    if (is_same && p->state)
        return 0;
    s->clock_ns = now_ns;
    s->has_run = true;
    return 1;
}

/* Asks for a process without its files. 1: it has ended; 0: not yet; -ESRCH: there is none, or
 * /proc shows its files. */
static int process_ask_hidden(const struct process_reader *r, pid_t pid)
{
    char path[PROCESS_PATH_BYTES];
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    /* First the file, then the process: one that is reaped meanwhile is gone, not hidden. */
    if (!r->root->live || r->root->pids < 0 || faccessat(r->root->pids, path, F_OK, 0) == 0)
        return -ESRCH;
    CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0U);
    if (fd < 0 && errno == ESRCH)
        return -ESRCH;
    if (fd < 0) /* refused, or an older kernel */
        return kill(pid, 0) < 0 && errno == ESRCH ? -ESRCH : 0;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, 0) > 0;
}

bool process_is_hidden(const struct process_reader *r, pid_t pid)
{
    return process_ask_hidden(r, pid) == 0;
}

static void process_visit_read_file(const struct process_file *f, struct process_reader *r,
                                    struct process_source *s, struct process *p,
                                    enum process_depth depth)
{
    int e = f->read(r, s, p, depth);
    if (e == -ENOENT && process_is_hidden(r, p->entity.pid))
        e = -EACCES; /* stat was opened before, and can be read on */
    if (e == -EACCES || e == -EPERM) {
        uint64_t hidden = p->has_ended ? f->gives & ~p->own.present : f->gives;
        if (p->has_ended)
            p->denied_at_end |= hidden & ~p->denied;
        p->denied |= hidden;
        /* What a gauge had when it could still be read may be wrong by now. */
        if (!p->has_ended)
            p->own.present &= ~(f->gives &
                                (metric_fold_mask(FOLD_SUM) | metric_fold_mask(FOLD_ONCE)));
    }
    if (e < 0 && e != -ENODATA)
        return;
    p->denied &= ~f->gives;
    if (e == 0)
        p->fresh |= f->gives;
    /* A helper process with a copy of our memory makes pages shared that are ours alone. */
    uint64_t shared = f->gives & PROCESS_ROLLUP_BITS;
    if (shared && p->entity.pid == r->own.pid && quiet_fork_shares_memory()) {
        p->denied |= shared;
        r->own_was_shared = true;
    }
}

/* Only processes that use something are ever named to anybody: a short one is not asked. */
static bool process_needs_command(const struct process_reader *r, const struct process_source *s,
                                  const struct process *p)
{
    enum { NOTABLE_NS = 5 * 1000 * 1000, NOTABLE_BYTES = 4 << 20 };
    return r->commands != COMMANDS_NOT_READ && s->command_execs != p->execs + 1 && !p->has_ended &&
           !p->before_exec && !p->of_kernel &&
           (row_u64(&p->own, process_cpu_seconds) >= NOTABLE_NS ||
            row_u64(&p->own, process_memory_rss_bytes) >= NOTABLE_BYTES);
}

char *process_command_of(enum command_reading how, char *text, size_t length)
{
    enum { WORDS = 64, LONGEST = 255 };
    const char *words[WORDS + 1];
    size_t count = 0;
    char *command = NULL;
    if (how == COMMANDS_NOT_READ || !length)
        return NULL;
    text[length - 1] = '\0';
    for (size_t at = 0; at + 1 < length && count < WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    words[count] = NULL;
    char **masked = how == COMMANDS_MASKED ? secrets_mask_command(words) : NULL;
    const char *const *shown = masked ? (const char *const *)masked : words;
    struct buf b = {0};
    for (size_t i = 0; shown[i] && (masked || how != COMMANDS_MASKED); i++)
        buf_printf(&b, "%s%s", i ? " " : "", shown[i]);
    for (size_t i = 0; masked && masked[i]; i++)
        free(masked[i]);
    free(masked);
    if (b.length && !buf_failed(&b)) {
        if (b.length > LONGEST) {
            b.length = LONGEST;
            while (b.length && (b.data[b.length] & 0xC0) == 0x80)
                b.length--; /* not in the middle of a character */
        }
        command = strndup(b.data, b.length);
    }
    buf_done(&b);
    return command;
}

static void process_read_command(struct process_reader *r, struct process_source *s,
                                 struct process *p)
{
    s->command_execs = p->execs + 1;
    ssize_t n = process_read_once(r, p->entity.pid, "cmdline");
    char *command = n > 0 ? process_command_of(r->commands, r->text,
                                               min_u64((uint64_t)n + 1, PROCESS_TEXT_BYTES))
                          : NULL;
    if (!command)
        return;
    free(p->command);
    p->command = command;
}

int process_visit(struct process_reader *r, struct process_source *s, struct process *p,
                  enum process_depth depth)
{
    unsigned execs = p->execs;
    if (depth == DEPTH_BRIEF) {
        if (process_read_statm(r, s, p) == 0) {
            row_put_u64(&p->own, process_cpu_seconds, s->clock_ns);
            p->fresh = PROCESS_BRIEF_BITS;
            s->is_behind = true;
            return 0;
        }
        depth = DEPTH_CHANGE; /* it may have ended, or be another one by now */
    }
    int e = process_read_stat(r, s, p, depth);
    if (e < 0)
        return e;
    if (p->execs != execs) {
        /* All that is known of its memory was of the old program; and when exec came while stat was
         * read, the line has figures of both. */
        depth = DEPTH_REFRESH;
        e = process_read_stat(r, s, p, depth);
        if (e < 0)
            return e;
    }
    if (p->entity.pid == r->own.pid) {
        own_thread_leave_out(&r->own, &p->own);
        own_thread_children(&p->inherited);
    }
    if (r->has_clock)
        row_put_u64(&p->own, process_cpu_seconds, s->clock_ns);
    if (p->is_hidden) { /* it shows itself again; its other files are read in their turn */
        p->is_hidden = false;
        p->denied &= ~(process_files[0].gives | BIT(process_processes_count));
    }
    p->fresh = process_files[0].gives;
    if (depth == DEPTH_STILL)
        return 0;
    if (s->kept.fds[KEPT_STATM] >= 0 && !p->has_ended && !p->of_kernel)
        process_read_statm(r, s, p);
    s->is_behind = false;
    enum metric_cost most_cost = depth == DEPTH_REFRESH ? COST_REFRESH : COST_OFTEN;
    for (const struct process_file *f = process_files + 1; f->name; f++) {
        bool there = f->of_zombies || !p->has_ended;
        /* Whether SIGCHLD is ignored decides what every total is worth. */
        bool needed = (f->gives & r->wanted) || f->read == process_read_status;
        if (there && f->cost <= most_cost && needed)
            process_visit_read_file(f, r, s, p, depth);
    }
    if (process_needs_command(r, s, p))
        process_read_command(r, s, p);
    if (depth == DEPTH_REFRESH)
        s->has_run = false;
    else
        fd_cache_touch(&r->cache, &s->kept);
    return 0;
}

bool process_hide(struct process_reader *r, const struct process_source *s, struct process *p)
{
    int end = s->kept.fds[KEPT_STAT] >= 0 ? -ESRCH : process_ask_hidden(r, p->entity.pid);
    if (end < 0)
        return false;
    p->has_ended = end > 0;
    if (!p->is_hidden && p->state) { /* it was shown until it executed another program */
        p->execs++;
        p->before_exec = false;
        p->start_stack = 0;
    }
    /* Its children are not listed either: there may be more processes, and more CPU time. */
    p->denied |= BIT(process_processes_count);
    for (const struct process_file *f = process_files; f->name; f++)
        p->denied |= f->gives;
    if (r->has_clock) /* the CPU clock of a pid can be read by every user */
        row_put_u64(&p->own, process_cpu_seconds, s->clock_ns);
    p->is_hidden = true;
    p->fresh = 0;
    p->own.present &= ~(metric_fold_mask(FOLD_SUM) | metric_fold_mask(FOLD_ONCE));
    if (!*p->entity.name)
        snprintf(p->entity.name, sizeof p->entity.name, "(hidden)");
    return true;
}

int process_visit_slow(struct process_reader *r, struct process_source *s, struct process *p)
{
    for (const struct process_file *f = process_files; f->name && !p->is_hidden; f++)
        if (f->cost == COST_SLOW && (f->gives & r->wanted))
            process_visit_read_file(f, r, s, p, DEPTH_REFRESH);
    return r->no_rollup ? -ENOENT : 0;
}

/* ==== Process family ========================================================================== */

/* Relations between processes: parents and children, users, all processes of the machine. */

struct family {
    struct process_reader *r;
    pid_t pid;
    void (*meet)(void *arg, pid_t pid);
    void *arg;
    struct process_source *only; /* of a process with one thread; else NULL */
    int result;
};

/* "1235 1240 1311 ", read in parts when there are many. The kernel fills a page with as many whole
 * numbers as fit: a read that leaves room for another one has reached the end. */
static int family_meet_listed(struct family *f, int fd)
{
    enum { PAGE_BYTES = 4096, LONGEST_NUMBER = 12 };
    char *text = f->r->text;
    size_t carried = 0; /* digits of a number that the end of the last part cut */
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(fd, text + carried, PROCESS_TEXT_BYTES - carried, at);
        if (n < 0)
            return -errno;
        at += n;
        bool is_end = n + LONGEST_NUMBER <= PAGE_BYTES;
        struct scan s = scan_text(text, carried + (size_t)n);
        const char *rest = s.at;
        for (uint64_t child; scan_u64(&s, &child); rest = s.at) {
            if (scan_done(&s) && !is_end)
                break;
            f->meet(f->arg, (pid_t)child);
        }
        if (is_end)
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

static int process_read_stat_once(struct process_reader *r, pid_t pid, struct pid_stat *ret)
{
    ssize_t n = process_read_once(r, pid, "stat");
    return n < 0 ? (int)n : parse_pid_stat(scan_text(r->text, (size_t)n), ret);
}

pid_t process_parent(struct process_reader *r, pid_t pid)
{
    struct pid_stat st;
    int e = process_read_stat_once(r, pid, &st);
    return e < 0 ? e : st.parent;
}

bool process_is_leaving(struct process_reader *r, pid_t pid)
{
    struct pid_stat st;
    return process_read_stat_once(r, pid, &st) < 0 || st.is_leaving;
}

/* The signal goes to each thread, and stays there until the thread begins to end. */
bool process_continues(struct process_reader *r, pid_t pid)
{
    uint64_t pending;
    ssize_t n = process_read_once(r, pid, "status");
    return n > 0 && parse_pid_pending(scan_text(r->text, (size_t)n), &pending) == 0 &&
           !(pending >> (SIGKILL - 1) & 1) && !process_is_leaving(r, pid);
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
    int e = process_read_stat_once(r, p->entity.pid, &st);
    if (e < 0)
        return e;
    p->entity.parent = st.parent;
    p->entity.start_ticks = st.start_ticks;
    p->group = st.group;
    p->session = st.session;
    return 0;
}

int process_identify_quickly(const struct process_reader *r, struct process *p)
{
    if (!r->root->live || r->root->pids < 0)
        return -ENOSYS;
    p->group = getpgid(p->entity.pid);
    p->session = p->group < 0 ? -1 : getsid(p->entity.pid);
    return p->session < 0 ? -errno : 0;
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

static void family_meet_of_thread(void *arg, pid_t thread)
{
    struct family *f = arg;
    char name[PROCESS_PATH_BYTES];
    snprintf(name, sizeof name, "task/%d/children", (int)thread);
    CLEANUP_CLOSE int fd = process_open(f->r, f->pid, name, 0);
    f->result = fd < 0 ? fd : family_meet_listed(f, fd);
    /* A process with one thread keeps the file open. */
    if (f->only && f->result == 0 && fd_cache_admits(&f->r->cache, &f->only->kept, true))
        fd_cache_keep(&f->r->cache, &f->only->kept, KEPT_CHILDREN, take_fd(&fd));
}

int process_children(struct process_reader *r, struct process_source *s, pid_t pid,
                     void (*meet)(void *arg, pid_t child), void *arg)
{
    struct family f = {.r = r, .pid = pid, .meet = meet, .arg = arg};
    if (s->threads > 1) {
        int e = process_each_thread(r, pid, family_meet_of_thread, &f);
        return e < 0 ? e : f.result;
    }
    if (s->kept.fds[KEPT_CHILDREN] >= 0)
        return family_meet_listed(&f, s->kept.fds[KEPT_CHILDREN]);
    f.only = s;
    family_meet_of_thread(&f, pid);
    return f.result;
}

int process_scan(struct process_reader *r, void (*meet)(void *arg, pid_t pid), void *arg)
{
    return process_each_number(r, r->root->pids, meet, arg);
}
