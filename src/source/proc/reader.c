/* SPDX-License-Identifier: MIT */
#include "source/proc/reader.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "source/pid_files.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ==== Process refresh ========================================================================= */

/* The files that are read about once a second, and smaps_rollup, which is read when the budget
 * allows. */

/* The process may be the init of a pid namespace below the one that this /proc shows. */
static void put_namespaces(struct process *p, struct scan status)
{
    enum { NESTED_AT_MOST = 33 }; /* 32 below the first, the kernel allows no more */
    pid_t pids[NESTED_AT_MOST];
    int count = parse_pid_namespaces(status, pids, NESTED_AT_MOST);
    p->pid_namespaces = count > 0 ? (unsigned)count : 0;
    p->is_namespace_init = count > 1 && pids[count - 1] == 1;
}

/* Counters stay until the process is reaped. A gauge that was never read stays unknown. */
static void process_empty_gauges(struct process *p)
{
    FOR_EACH_BIT(id, (metric_fold_mask(FOLD_SUM) | metric_fold_mask(FOLD_ONCE)) & p->own.present)
    row_put_u64(&p->own, id, 0);
}

/* Page tables are read less often: what they said of a part of the memory is never more than all of
 * it is now. */
static void process_put_rss(struct process *p, uint64_t bytes)
{
    row_put_u64(&p->own, process_memory_rss_bytes, bytes);
    row_put_u64(&p->own, process_memory_distinct_bytes, bytes);
    FOR_EACH_BIT(id, PROCESS_ROLLUP_BITS & p->own.present)
    row_put_u64(&p->own, (enum metric_id)id, min_u64(row_u64(&p->own, (enum metric_id)id), bytes));
}

/* ---- A main thread that has ended ------------------------------------------------------------ */

/* The files of the process are those of its main thread. When that has ended before the others,
 * they show neither memory nor descriptors; the files of another thread do. */

struct thread_search {
    struct process_reader *r;
    pid_t pid, found;
    struct statm memory;
};

static void process_try_thread(void *arg, pid_t thread)
{
    struct thread_search *w = arg;
    char name[PROCESS_PATH_BYTES];
    struct statm st;
    if (w->found || thread == w->pid)
        return;
    snprintf(name, sizeof name, "task/%d/statm", (int)thread);
    ssize_t n = process_read_once(w->r, w->pid, name);
    if (n <= 0 || parse_statm(scan_text(w->r->text, (size_t)n), &st) < 0 || !st.virtual_pages)
        return;
    w->found = thread;
    w->memory = st;
}

static bool process_find_living(struct process_reader *r, struct process_source *s, pid_t pid,
                                struct statm *ret)
{
    struct thread_search w = {.r = r, .pid = pid};
    if (s->living_thread)
        process_try_thread(&w, s->living_thread);
    if (!w.found)
        process_each_thread(r, pid, process_try_thread, &w);
    s->living_thread = w.found;
    *ret = w.memory;
    return w.found;
}

/* The path of a file of that thread, or of the process if no thread is known. */
static void process_name_of_living(const struct process_source *s, const char *name,
                                   char path[static PROCESS_PATH_BYTES])
{
    if (s->living_thread)
        snprintf(path, PROCESS_PATH_BYTES, "task/%d/%s", (int)s->living_thread, name);
    else
        snprintf(path, PROCESS_PATH_BYTES, "%s", name);
}

/* Memory alone: the switches are those of the thread. */
static void process_read_status_of_living(struct process_reader *r, const struct process_source *s,
                                          const struct process *p, struct pid_status *st)
{
    char name[PROCESS_PATH_BYTES];
    struct pid_status living;
    process_name_of_living(s, "status", name);
    ssize_t n = process_read_once(r, p->entity.pid, name);
    if (n <= 0 || parse_pid_status(scan_text(r->text, (size_t)n), &living) < 0)
        return;
    living.ignored_signals = st->ignored_signals;
    living.switches_voluntary = st->switches_voluntary;
    living.switches_involuntary = st->switches_involuntary;
    *st = living;
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
        put_namespaces(p, scan_text(r->text, (size_t)n));
    }
    if (!st.has_memory && s->living_thread)
        process_read_status_of_living(r, s, p, &st);
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
    int result; /* 0 when at least one thread was read: the others may have ended meanwhile */
};

static void process_add_thread_wait(void *arg, pid_t thread)
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

/* More threads than these are read so seldom that it takes a hundredth of a CPU. */
enum { MANY_THREADS = 64 };

/* The file of a process has only its main thread's times, so the files of all threads are read. The
 * time of a thread that ended is lost: the figure is held at the highest sum. */
int process_read_waits(struct process_reader *r, struct process_source *s, struct process *p,
                       enum process_depth depth)
{
    (void)depth;
    struct thread_waits w = {.r = r, .pid = p->entity.pid, .result = -ESRCH};
    if (s->threads <= 1 && s->kept.fds[KEPT_STATM] >= 0) { /* a process that is busy */
        struct schedstat st;
        ssize_t n = process_read_kept(r, s, p->entity.pid, KEPT_WAITS, "schedstat", false);
        w.result = n < 0 ? (int)n : parse_schedstat(scan_text(r->text, (size_t)n), &st);
        w.wait_ns = w.result < 0 ? 0 : st.wait_ns;
    } else if (s->threads <= 1) {
        process_add_thread_wait(&w, p->entity.pid);
    } else if (s->threads <= MANY_THREADS || !r->root->live) {
        process_each_thread(r, p->entity.pid, process_add_thread_wait, &w);
    } else {
        if (clock_mono(NULL) < s->waits_after_ns)
            return -EAGAIN;
        uint64_t before_ns = clock_thread_cpu();
        process_each_thread(r, p->entity.pid, process_add_thread_wait, &w);
        uint64_t cost_ns = left_u64(clock_thread_cpu(), before_ns);
        r->threads_cpu_ns += cost_ns;
        s->waits_after_ns = clock_mono(NULL) + 100 * cost_ns;
    }
    if (w.result < 0)
        return w.result;
    row_hold_u64(&p->own, process_cpu_wait_seconds, w.wait_ns);
    return 0;
}

int process_read_open_files(struct process_reader *r, struct process_source *s, struct process *p,
                            enum process_depth depth)
{
    (void)depth;
    uint64_t count = 0;
    char name[PROCESS_PATH_BYTES];
    process_name_of_living(s, "fd", name);
    if (r->fd_dir_has_size) {
        char path[2 * PROCESS_PATH_BYTES];
        struct stat st;
        snprintf(path, sizeof path, "%d/%s", (int)p->entity.pid, name);
        if (fstatat(r->root->pids, path, &st, 0) < 0)
            return -errno;
        count = (uint64_t)st.st_size;
    } else {
        CLEANUP_CLOSE int dir = process_open(r, p->entity.pid, name, O_DIRECTORY);
        if (dir < 0)
            return dir;
        ssize_t entries = file_count_entries(dir);
        if (entries < 0)
            return (int)entries;
        count = (uint64_t)entries;
    }
    if (r->own_files && p->entity.pid == getpid())
        count = left_u64(count, r->own_files + r->cache.used);
    row_put_u64(&p->own, process_open_files_count, count);
    return 0;
}

/* Walks page tables: milliseconds per gigabyte, and holds a lock of the process meanwhile. */
int process_read_rollup(struct process_reader *r, struct process_source *s, struct process *p,
                        enum process_depth depth)
{
    (void)depth;
    if (r->no_rollup)
        return -ENOENT;
    char name[PROCESS_PATH_BYTES];
    process_name_of_living(s, "smaps_rollup", name);
    ssize_t n = process_read_once(r, p->entity.pid, name);
    if (n == -ENOENT && !s->living_thread && process_read_once(r, p->entity.pid, "stat") > 0)
        r->no_rollup = true; /* the process is there, the file is not: an old kernel */
    if (n == -ENOENT && !r->no_rollup && process_is_hidden(r, p->entity.pid))
        return -EACCES;
    struct smaps_rollup rollup = {0};
    bool has_ended = n == -ESRCH || (n == -ENOENT && !r->no_rollup);
    /* A process that has ended has no memory any more. When only its main thread has ended, the
     * others still have it. */
    if (n < 0 && !(has_ended && s->threads <= 1))
        return (int)n;
    int e = n < 0 ? 0 : parse_smaps_rollup(scan_text(r->text, (size_t)n), &rollup);
    if (e < 0)
        return e;
    /* It has grown since stat was read: then this file's own RSS is of the moment of PSS. */
    if (row_has(&p->own, process_memory_rss_bytes) &&
        rollup.pss_bytes > row_u64(&p->own, process_memory_rss_bytes)) {
        process_put_rss(p, max_u64(rollup.rss_bytes, rollup.pss_bytes));
        if (row_has(&p->own, process_memory_peak_bytes))
            row_hold_u64(&p->own, process_memory_peak_bytes,
                         row_u64(&p->own, process_memory_rss_bytes));
    }
    row_put_u64(&p->own, process_memory_pss_bytes, rollup.pss_bytes);
    row_put_u64(&p->own, process_memory_uss_bytes, rollup.uss_bytes);
    row_put_u64(&p->own, process_memory_distinct_shared_bytes,
                left_u64(rollup.rss_bytes, rollup.uss_bytes));
    return 0;
}

/* ==== Process files =========================================================================== */

#define M PROCESS_BIT

const struct process_file process_files[] = {
    {"stat",
     M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds) | M(memory_rss_bytes) |
         M(memory_distinct_bytes) | M(memory_virtual_bytes) | M(faults_minor_count) |
         M(faults_major_count) | M(threads_count),
     COST_OFTEN, true, process_read_stat},
    {"io", PROCESS_IO_BITS, COST_OFTEN, true, process_read_io},
    {"status",
     M(memory_shared_bytes) | M(memory_swap_bytes) | M(memory_peak_bytes) |
         M(switches_voluntary_count) | M(switches_involuntary_count),
     COST_REFRESH, true, process_read_status},
    {"task/TID/schedstat", M(cpu_wait_seconds), COST_REFRESH, true, process_read_waits},
    {"fd", M(open_files_count), COST_REFRESH, false, process_read_open_files},
    {"smaps_rollup", PROCESS_ROLLUP_BITS, COST_SLOW, false, process_read_rollup},
    {0},
};

/* ==== Process work ============================================================================ */

/* The files that move with every bit of work a process does: stat and io. */

/* ---- stat ------------------------------------------------------------------------------------ */

/* User and system time as they are. CPU time that is made of them counts from a baseline that is
 * rounded up, each kind by itself, so that nothing from before it counts. */
static void process_put_cpu(struct process_reader *r, struct process *p, const struct pid_stat *st)
{
    const struct tick_times *base = &p->baseline;
    uint64_t user = st->user_ticks * r->ns_per_tick;
    uint64_t system = st->system_ticks * r->ns_per_tick;
    row_put_u64(&p->own, process_cpu_user_seconds, user);
    row_put_u64(&p->own, process_cpu_system_seconds, system);
    if (!r->has_clock)
        row_put_u64(&p->own, process_cpu_seconds,
                    max_u64(user, base->user) + max_u64(system, base->system));

    uint64_t children_user = st->children_user_ticks * r->ns_per_tick;
    uint64_t children_system = st->children_system_ticks * r->ns_per_tick;
    inherited_put(&p->inherited, process_cpu_user_seconds, children_user);
    inherited_put(&p->inherited, process_cpu_system_seconds, children_system);
    inherited_put(&p->inherited, process_cpu_seconds,
                  max_u64(children_user, base->children_user) +
                      max_u64(children_system, base->children_system));
}

static void process_put_identity(struct process *p, const struct pid_stat *st)
{
    /* A process chooses its name: control characters must not reach a terminal. */
    size_t length = min_u64(st->name_length, ENTITY_NAME_BYTES - 1);
    for (size_t i = 0; i < length; i++)
        p->entity.name[i] = (unsigned char)st->name[i] < 0x20 || st->name[i] == 0x7F ? '?'
                                                                                     : st->name[i];
    p->entity.name[length] = '\0';
    p->entity.start_ticks = st->start_ticks;
    p->entity.parent = st->parent;
    p->group = st->group;
    p->session = st->session;
    p->state = st->state;
}

/* exec gives a process a new memory. What files that are read less often said of the old one is no
 * longer true. */
static void process_note_exec(struct process *p, const struct pid_stat *st)
{
    bool is_another = (p->before_exec && !st->before_exec) ||
                      (p->start_stack && st->start_stack && st->start_stack != p->start_stack);
    if (is_another) {
        p->execs++;
        p->own.present &= ~PROCESS_MEMORY_BITS;
    }
    p->before_exec = st->before_exec;
    p->start_stack = st->start_stack;
}

int process_read_stat(struct process_reader *r, struct process_source *s, struct process *p,
                      enum process_depth depth)
{
    ssize_t n = process_read_kept(r, s, p->entity.pid, KEPT_STAT, "stat", depth == DEPTH_CHANGE);
    if (n < 0)
        return n == -ENOENT ? -ESRCH : (int)n;
    struct pid_stat st;
    int e = parse_pid_stat(scan_text(r->text, (size_t)n), &st);
    if (e < 0)
        return e;
    if (p->state && st.start_ticks != p->entity.start_ticks)
        return -ESRCH; /* another process has the pid now */

    /* To reap a process, the kernel first adds its figures to those of the parent and then clears
     * it, field by field: its parent reads as 0, its group as -1, its threads as 0. The parent has
     * its figures by then, or will have them at once. */
    if (st.state == 'X' || !st.threads) {
        p->is_being_reaped = st.threads != 0;
        return -ESRCH;
    }

    process_put_identity(p, &st);
    process_put_cpu(r, p, &st);
    row_put_u64(&p->own, process_faults_minor_count, st.faults_minor);
    row_put_u64(&p->own, process_faults_major_count, st.faults_major);
    inherited_put(&p->inherited, process_faults_minor_count, st.children_faults_minor);
    inherited_put(&p->inherited, process_faults_major_count, st.children_faults_major);
    s->threads = st.threads;
    s->had_threads |= st.threads > 1;
    /* A main thread that ended before the others looks like a zombie too. */
    bool is_dead = st.state == 'Z';
    bool shows_no_memory = is_dead || !st.virtual_bytes;
    p->of_kernel = st.of_kernel;
    p->has_ended = (st.of_kernel ? is_dead : shows_no_memory) && st.threads <= 1;
    if (p->has_ended) {
        process_empty_gauges(p);
        return 0;
    }
    row_put_u64(&p->own, process_threads_count, st.threads);
    if (st.of_kernel) { /* it has no memory of its own: that is known */
        FOR_EACH_BIT(id, PROCESS_MEMORY_BITS)
        row_put_u64(&p->own, (enum metric_id)id, 0);
    }
    s->living_thread = shows_no_memory ? s->living_thread : 0;
    struct statm living;
    if (shows_no_memory && (st.of_kernel || !process_find_living(r, s, p->entity.pid, &living)))
        return 0;
    if (!shows_no_memory)
        process_note_exec(p, &st);
    uint64_t rss = (shows_no_memory ? living.rss_pages : st.rss_pages) * r->page_bytes;
    process_put_rss(p, rss);
    row_put_u64(&p->own, process_memory_virtual_bytes,
                shows_no_memory ? living.virtual_pages * r->page_bytes : st.virtual_bytes);
    /* The high-water mark is read less often. */
    if (row_has(&p->own, process_memory_peak_bytes))
        row_hold_u64(&p->own, process_memory_peak_bytes, rss);
    return 0;
}

/* ---- statm ----------------------------------------------------------------------------------- */

int process_read_statm(struct process_reader *r, struct process_source *s, struct process *p)
{
    if (s->kept.fds[KEPT_STATM] < 0) {
        /* The descriptor is of whichever process has the pid by now: stat shows whether that is
         * still the same one. */
        ssize_t n = process_read_kept(r, s, p->entity.pid, KEPT_STATM, "statm", true);
        return n < 0 ? (int)n : -EAGAIN;
    }
    ssize_t n = file_reread(s->kept.fds[KEPT_STATM], r->text, PROCESS_TEXT_BYTES);
    if (n < 0)
        return (int)n;
    struct statm st;
    int e = parse_statm(scan_text(r->text, (size_t)n), &st);
    if (e < 0)
        return e;
    if (!st.virtual_pages) /* it ends, or its main thread has ended before the others */
        return -ENODATA;
    uint64_t rss = st.rss_pages * r->page_bytes;
    process_put_rss(p, rss);
    row_put_u64(&p->own, process_memory_virtual_bytes, st.virtual_pages * r->page_bytes);
    if (row_has(&p->own, process_memory_peak_bytes))
        row_hold_u64(&p->own, process_memory_peak_bytes, rss);
    return 0;
}

/* ---- io -------------------------------------------------------------------------------------- */

void process_put_io(struct row *row, const struct pid_io *io)
{
    row_put_u64(row, process_storage_read_bytes, io->storage_read_bytes);
    row_put_u64(row, process_storage_written_bytes, io->storage_written_bytes);
    row_put_u64(row, process_storage_cancelled_bytes, io->storage_cancelled_bytes);
    row_put_u64(row, process_io_read_bytes, io->read_bytes);
    row_put_u64(row, process_io_written_bytes, io->written_bytes);
    row_put_u64(row, process_io_read_calls_count, io->read_calls);
    row_put_u64(row, process_io_write_calls_count, io->write_calls);
}

/* The files of up to this many threads are read at every change, of more only at a refresh. */
enum { FEW_THREADS = 16 };

struct thread_io {
    struct process_reader *r;
    pid_t pid;
    struct row sum;
    int result; /* the first failure */
};

static void process_add_thread_io(void *arg, pid_t thread)
{
    struct thread_io *t = arg;
    if (thread == t->r->own.thread)
        return;
    char name[PROCESS_PATH_BYTES];
    struct pid_io io;
    snprintf(name, sizeof name, "task/%d/io", (int)thread);
    ssize_t n = process_read_once(t->r, t->pid, name);
    int e = n < 0 ? (int)n : parse_pid_io(scan_text(t->r->text, (size_t)n), &io);
    if (e < 0) {
        t->result = t->result ? t->result : e;
        return;
    }
    struct row one;
    row_init(&one, ENTITY_PROCESS);
    process_put_io(&one, &io);
    row_add(&t->sum, &one, one.present);
}

/* Threads that begin and end between two looks are not seen, but the CPU clock of a process keeps
 * what they used, to the nanosecond: the main thread was the only one when it has used all of it.
 * The two clocks cannot be read at the same time while the process runs: -EAGAIN. */
static int process_had_threads(struct process_reader *r, const struct process_source *s,
                               const struct process *p)
{
    enum { TRIES = 3 }; /* the last instructions of a process run after it has become a zombie */
    if (s->had_threads)
        return 1;
    if (!r->root->live)
        return 0; /* a recording has no such clock */
    for (unsigned i = 0; r->has_clock && i < TRIES; i++) {
        uint64_t before_ns, after_ns;
        struct schedstat main;
        char name[PROCESS_PATH_BYTES];
        snprintf(name, sizeof name, "task/%d/schedstat", (int)p->entity.pid);
        if (clock_process_cpu(p->entity.pid, &before_ns) < 0)
            return -ESRCH;
        ssize_t n = process_read_once(r, p->entity.pid, name);
        if (n < 0 || parse_schedstat(scan_text(r->text, (size_t)n), &main) < 0 ||
            clock_process_cpu(p->entity.pid, &after_ns) < 0)
            return -ENODATA;
        if (before_ns == after_ns)
            return main.run_ns != before_ns;
    }
    return -EAGAIN;
}

/* Whether there is more than the main thread has done. */
static bool process_has_more_io(const struct row *whole, const struct row *main)
{
    FOR_EACH_BIT(id, whole->present)
    if (row_u64(whole, id) > row_u64(main, id))
        return true;
    return false;
}

/* The kernel adds the I/O of reaped children to that of the process; the files of its threads have
 * only their own. The rest was inherited, or done by threads that have ended: -ENODATA when it is
 * not known which. */
static int process_split_io(struct process_reader *r, struct process_source *s, struct process *p,
                            const struct row *whole, enum process_depth depth)
{
    struct thread_io t = {.r = r, .pid = p->entity.pid};
    row_init(&t.sum, ENTITY_PROCESS);
    bool had_no_child = !inherited_u64(&p->inherited, process_faults_minor_count);
    if (s->threads <= 1)
        process_add_thread_io(&t, p->entity.pid);
    /* The rest of one that seems to have no child is that of threads which were never seen, unless
     * the clocks prove that there were none. */
    if (!p->has_ended && !s->had_threads && had_no_child && t.result == 0 &&
        process_has_more_io(whole, &t.sum))
        s->had_threads = process_had_threads(r, s, p) > 0;
    bool is_alone = p->has_ended ? process_had_threads(r, s, p) == 0 : !s->had_threads;
    /* A child that was reaped had a page fault, unless it shared the memory of its parent: the file
     * of a thread that was the only one is the better proof. stat is read again after the io file,
     * so that no child can have been reaped in between. */
    struct process now = *p;
    bool is_apart = is_alone && t.result == 0 && p->entity.pid != r->own.pid;
    bool all_own = !is_apart && had_no_child && process_read_stat(r, s, &now, DEPTH_STILL) == 0 &&
                   !inherited_u64(&now.inherited, process_faults_minor_count);
    if (all_own)
        t.sum = *whole;
    else if (s->threads > 1 && (depth == DEPTH_REFRESH || s->threads <= FEW_THREADS))
        process_each_thread(r, p->entity.pid, process_add_thread_io, &t);
    FOR_EACH_BIT(id, whole->present)
    {
        uint64_t own = max_u64(row_u64(&t.sum, id), row_u64(&p->own, id));
        row_put_u64(&p->own, id, min_u64(own, row_u64(whole, id)));
        inherited_put(&p->inherited, id, left_u64(row_u64(whole, id), own));
    }
    return all_own || (is_alone && t.result == 0) ? 0 : -ENODATA;
}

/* What was read before stays when the file cannot be read any more: an ordinary user may not read
 * the io file of a zombie. */
int process_read_io(struct process_reader *r, struct process_source *s, struct process *p,
                    enum process_depth depth)
{
    struct pid_io io;
    ssize_t n = process_read_kept(r, s, p->entity.pid, KEPT_IO, "io", depth == DEPTH_CHANGE);
    if (n < 0)
        return (int)n;
    int e = parse_pid_io(scan_text(r->text, (size_t)n), &io);
    if (e < 0)
        return e;
    bool is_own = p->entity.pid == r->own.pid;
    if (!is_own && !p->splits_io) {
        process_put_io(&p->own, &io);
        return 0;
    }
    struct row whole;
    row_init(&whole, ENTITY_PROCESS);
    process_put_io(&whole, &io);
    if (is_own)
        own_thread_leave_out_io(&r->own, &whole, (uint64_t)n);
    if (p->splits_io)
        return process_split_io(r, s, p, &whole, depth);
    FOR_EACH_BIT(id, whole.present)
    row_put_u64(&p->own, (enum metric_id)id, row_u64(&whole, (enum metric_id)id));
    return 0;
}

/* ==== Process reader ========================================================================== */

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
    /* The reserve is for outputs, timers and files that are opened and closed at once. A descriptor
     * costs some kilobytes in the kernel. */
    enum { FDS_IN_RESERVE = 32, FDS_AT_MOST = 8192 };
    struct rlimit limit;
    r->cache.limit = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        r->cache.limit = (unsigned)min_u64(left_u64(limit.rlim_cur, FDS_IN_RESERVE), FDS_AT_MOST);
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

struct number_walk {
    void (*visit)(void *arg, pid_t number);
    void *arg;
};

static void number_walk_visit(void *arg, const char *name)
{
    const struct number_walk *w = arg;
    struct scan s = scan_string(name);
    uint64_t number;
    if (scan_u64(&s, &number) && scan_done(&s))
        w->visit(w->arg, (pid_t)number);
}

int process_each_number(const struct process_reader *r, int dir,
                        void (*visit)(void *arg, pid_t number), void *arg)
{
    struct number_walk w = {.visit = visit, .arg = arg};
    return r->root->live ? file_each_entry(dir, number_walk_visit, &w)
                         : file_each_entry_sorted(dir, number_walk_visit, &w);
}

int process_each_thread(struct process_reader *r, pid_t pid, void (*visit)(void *arg, pid_t thread),
                        void *arg)
{
    CLEANUP_CLOSE int dir = process_open(r, pid, "task", O_DIRECTORY);
    return dir < 0 ? dir : process_each_number(r, dir, visit, arg);
}
