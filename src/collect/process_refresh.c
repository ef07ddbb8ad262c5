/* SPDX-License-Identifier: MIT
 * The files of a process that are read about once a second, and the one that is on the budget. */
#include "base/clock.h"
#include "base/file.h"
#include "collect/process_visit.h"
#include "parse/pid_status.h"
#include "parse/schedstat.h"
#include "parse/smaps_rollup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

/* Of a pid namespace below the one that this /proc shows. */
static bool is_namespace_init(struct scan status)
{
    enum { NESTED_AT_MOST = 33 }; /* 32 below the first, the kernel allows no more */
    pid_t pids[NESTED_AT_MOST];
    int count = parse_pid_namespaces(status, pids, NESTED_AT_MOST);
    return count > 1 && pids[count - 1] == 1;
}

int process_read_status(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth)
{
    (void)depth;
    struct pid_status st;
    ssize_t n = process_read_kept(r, s, p->entity.pid, KEPT_STATUS, "status", false);
    if (n < 0)
        return (int)n;
    int e = parse_pid_status(scan_text(r->text, (size_t)n), &st);
    if (e < 0)
        return e;
    if (!s->knows_namespace) {
        s->knows_namespace = true; /* it keeps its pids for life */
        p->is_namespace_init = is_namespace_init(scan_text(r->text, (size_t)n));
    }
    /* Threads of the kernel ignore every signal, and have no children to wait for. The init of a
     * pid namespace is made to ignore this one by the kernel while it ends. */
    if (!p->is_namespace_init || st.has_memory)
        p->ignores_sigchld = !p->of_kernel && (st.ignored_signals >> (SIGCHLD - 1) & 1);
    row_put_u64(&p->own, process_switches_voluntary_count, st.switches_voluntary);
    row_put_u64(&p->own, process_switches_involuntary_count, st.switches_involuntary);
    if (st.has_memory) {
        row_put_u64(&p->own, process_memory_peak_bytes, st.high_water_bytes);
        process_put_rss(p, st.rss_bytes);
    }
    if (st.has_shared)
        row_put_u64(&p->own, process_memory_shared_bytes, st.shared_bytes);
    if (st.has_swap)
        row_put_u64(&p->own, process_memory_swap_bytes, st.swap_bytes);
    if (!st.has_memory && s->threads <= 1 && !p->of_kernel) {
        p->has_ended = true; /* between the two files */
        process_empty_gauges(p);
    }
    return 0;
}

struct thread_waits {
    struct process_reader *r;
    pid_t pid;
    uint64_t wait_ns;
    int result; /* 0 when any thread was read: the others have ended meanwhile */
};

static void add_thread_wait(void *arg, pid_t thread)
{
    struct thread_waits *w = arg;
    if (thread == w->r->own.thread)
        return;
    char name[PROCESS_PATH_BYTES];
    struct schedstat st;
    snprintf(name, sizeof name, "task/%d/schedstat", (int)thread);
    ssize_t n = process_read_once(w->r, w->pid, name);
    int e = n < 0 ? (int)n : parse_schedstat(scan_text(w->r->text, (size_t)n), &st);
    if (e == 0)
        w->wait_ns += st.wait_ns;
    if (w->result < 0)
        w->result = e;
}

enum { MANY_THREADS = 64 }; /* more are read as seldom as that takes a hundredth of a CPU */

/* The file of a process has only its main thread's times, so those of all threads are read.
 * Threads that end take theirs along: the figure is held at the most seen. */
int process_read_waits(struct process_reader *r, struct process_source *s, struct process *p,
                       enum process_depth depth)
{
    (void)depth;
    struct thread_waits w = {.r = r, .pid = p->entity.pid, .result = -ESRCH};
    if (s->threads <= 1) {
        add_thread_wait(&w, p->entity.pid);
    } else if (s->threads <= MANY_THREADS || !r->root->live) {
        process_each_thread(r, p->entity.pid, add_thread_wait, &w);
    } else {
        if (clock_mono(NULL) < s->waits_after_ns)
            return -EAGAIN;
        uint64_t before_ns = clock_thread_cpu();
        process_each_thread(r, p->entity.pid, add_thread_wait, &w);
        uint64_t cost_ns = left_u64(clock_thread_cpu(), before_ns);
        r->threads_cpu_ns += cost_ns;
        s->waits_after_ns = clock_mono(NULL) + 100 * cost_ns;
    }
    if (w.result < 0)
        return w.result;
    uint64_t most = max_u64(w.wait_ns, row_u64(&p->own, process_cpu_wait_seconds));
    row_put_u64(&p->own, process_cpu_wait_seconds, most);
    return 0;
}

static void count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(uint64_t *)arg;
}

int process_read_open_files(struct process_reader *r, struct process_source *s, struct process *p,
                            enum process_depth depth)
{
    (void)s;
    (void)depth;
    uint64_t count = 0;
    if (r->fd_dir_has_size) {
        char path[PROCESS_PATH_BYTES];
        struct stat st;
        snprintf(path, sizeof path, "%d/fd", (int)p->entity.pid);
        if (fstatat(r->root->pids, path, &st, 0) < 0)
            return -errno;
        count = (uint64_t)st.st_size;
    } else {
        CLEANUP_CLOSE int dir = process_open(r, p->entity.pid, "fd", O_DIRECTORY);
        if (dir < 0)
            return dir;
        int e = file_each_entry(dir, count_entry, &count);
        if (e < 0)
            return e;
    }
    if (r->own_files && p->entity.pid == getpid())
        count = left_u64(count, r->own_files + r->cache.used);
    row_put_u64(&p->own, process_open_files_count, count);
    return 0;
}

int process_read_rollup(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth)
{
    (void)depth;
    if (r->no_rollup)
        return -ENOENT;
    ssize_t n = process_read_once(r, p->entity.pid, "smaps_rollup");
    if (n == -ENOENT && process_read_once(r, p->entity.pid, "stat") > 0)
        r->no_rollup = true; /* the process is there, the file is not: an old kernel */
    if (n == -ENOENT && !r->no_rollup && process_is_hidden(r, p->entity.pid))
        return -EACCES;
    struct smaps_rollup rollup = {0};
    bool has_ended = n == -ESRCH || (n == -ENOENT && !r->no_rollup);
    /* Since its other files were read: it has no memory any more. When only its main thread has
     * ended, the others still have it. */
    if (n < 0 && !(has_ended && s->threads <= 1))
        return (int)n;
    int e = n < 0 ? 0 : parse_smaps_rollup(scan_text(r->text, (size_t)n), &rollup);
    if (e < 0)
        return e;
    row_put_u64(&p->own, process_memory_pss_bytes, rollup.pss_bytes);
    row_put_u64(&p->own, process_memory_uss_bytes, rollup.uss_bytes);
    row_put_u64(&p->own, process_memory_distinct_shared_bytes,
                left_u64(rollup.rss_bytes, rollup.uss_bytes));
    return 0;
}
