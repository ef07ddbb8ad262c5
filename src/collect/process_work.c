/* SPDX-License-Identifier: MIT
 * The files that move with every bit of work a process does: stat and io. */
#include "base/clock.h"
#include "collect/process_files.h"
#include "parse/pid_io.h"
#include "parse/pid_stat.h"
#include "parse/schedstat.h"

#include <stdio.h>
#include <string.h>

/* ---- stat ------------------------------------------------------------------------------------ */

/* User and system time as they are. CPU time that is made of them counts from a baseline that is
 * rounded up, each kind by itself, so that nothing from before it counts. */
static void put_cpu(struct process_reader *r, struct process *p, const struct pid_stat *st)
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

static void put_identity(struct process *p, const struct pid_stat *st)
{
    /* The name is the process's own choice: nothing in it may move a terminal's cursor. */
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

/* What has ended uses no memory, threads and files any more; what was never seen to is unknown. Its
 * counters stay until it is reaped. */
void process_empty_gauges(struct process *p)
{
    FOR_EACH_BIT(id, (metric_fold_mask(FOLD_SUM) | metric_fold_mask(FOLD_ONCE)) & p->own.present)
    row_put_u64(&p->own, id, 0);
}

/* A thread of the kernel has no memory of its own: that is known. */
static void put_no_memory(struct process *p)
{
    static const enum metric_id none[] = {
        process_memory_rss_bytes,
        process_memory_virtual_bytes,
        process_memory_pss_bytes,
        process_memory_uss_bytes,
        process_memory_shared_bytes,
        process_memory_swap_bytes,
        process_memory_peak_bytes,
        process_memory_distinct_bytes,
        process_memory_distinct_shared_bytes,
    };
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        row_put_u64(&p->own, none[i], 0);
}

void process_put_rss(struct process *p, uint64_t bytes)
{
    row_put_u64(&p->own, process_memory_rss_bytes, bytes);
    row_put_u64(&p->own, process_memory_distinct_bytes, bytes);
}

/* After exec a process has another memory. What was read of the one before, by files that are read
 * less often, is not its own any more. */
static void note_exec(struct process *p, const struct pid_stat *st)
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
        return -ESRCH; /* the pid is somebody else's now */

    /* While a process is reaped, the kernel first adds its figures to those of the parent and then
     * lets go of it, field by field: its parent reads as 0, its group as -1, its threads as 0. What
     * it had is its parent's from then on, or will be at once. */
    if (st.state == 'X' || !st.threads) {
        p->is_being_reaped = st.threads != 0;
        return -ESRCH;
    }

    put_identity(p, &st);
    put_cpu(r, p, &st);
    row_put_u64(&p->own, process_faults_minor_count, st.faults_minor);
    row_put_u64(&p->own, process_faults_major_count, st.faults_major);
    inherited_put(&p->inherited, process_faults_minor_count, st.children_faults_minor);
    inherited_put(&p->inherited, process_faults_major_count, st.children_faults_major);
    s->threads = st.threads;
    s->had_threads |= st.threads > 1;
    /* A main thread that left the others behind looks like a zombie too. The memory they use stands
     * in their files only: it keeps what was last seen. */
    bool is_dead = st.state == 'Z';
    bool shows_no_memory = is_dead || !st.virtual_bytes;
    p->of_kernel = st.of_kernel;
    p->has_ended = (st.of_kernel ? is_dead : shows_no_memory) && st.threads <= 1;
    if (p->has_ended) {
        process_empty_gauges(p);
        return 0;
    }
    row_put_u64(&p->own, process_threads_count, st.threads);
    if (st.of_kernel)
        put_no_memory(p);
    if (shows_no_memory)
        return 0;
    note_exec(p, &st);
    uint64_t rss = st.rss_pages * r->page_bytes;
    process_put_rss(p, rss);
    row_put_u64(&p->own, process_memory_virtual_bytes, st.virtual_bytes);
    /* The high-water mark is read less often. */
    if (rss > row_u64(&p->own, process_memory_peak_bytes) &&
        row_has(&p->own, process_memory_peak_bytes))
        row_put_u64(&p->own, process_memory_peak_bytes, rss);
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

/* So many are asked at every change, more only now and then. */
enum { FEW_THREADS = 16 };

struct thread_io {
    struct process_reader *r;
    pid_t pid;
    struct row sum;
    int result; /* the first failure */
};

static void add_thread_io(void *arg, pid_t thread)
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
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (row_has(&one, id))
            row_put_u64(&t->sum, id, row_u64(&t->sum, id) + row_u64(&one, id));
}

/* Asked again behind the io file, so that no child can have been reaped in between. No process
 * lives without a fault. */
static bool has_reaped_nobody(struct process_reader *r, struct process_source *s,
                              const struct process *p)
{
    struct process now = *p;
    return !inherited_u64(&p->inherited, process_faults_minor_count) &&
           process_read_stat(r, s, &now, DEPTH_STILL) == 0 &&
           !inherited_u64(&now.inherited, process_faults_minor_count);
}

/* Threads that come and go between two looks are not seen, but the CPU clock of a process keeps
 * what they used, to the nanosecond: no thread ran beside the main one when that has used all of
 * it. While the process lives, the two clocks cannot be read at the same time. */
static bool had_no_threads(struct process_reader *r, const struct process_source *s,
                           const struct process *p)
{
    enum { TRIES = 3 }; /* the last instructions of a process run after it has become a zombie */
    if (s->had_threads)
        return false;
    if (!r->root->live)
        return true; /* a recording has no such clock: what it shows is believed */
    for (unsigned i = 0; r->has_clock && i < TRIES; i++) {
        uint64_t before_ns, after_ns;
        struct schedstat main;
        char name[PROCESS_PATH_BYTES];
        snprintf(name, sizeof name, "task/%d/schedstat", (int)p->entity.pid);
        if (clock_process_cpu(p->entity.pid, &before_ns) < 0)
            return false;
        ssize_t n = process_read_once(r, p->entity.pid, name);
        if (n < 0 || parse_schedstat(scan_text(r->text, (size_t)n), &main) < 0 ||
            clock_process_cpu(p->entity.pid, &after_ns) < 0)
            return false;
        if (before_ns == after_ns)
            return main.run_ns == before_ns;
    }
    return false;
}

/* The kernel adds the I/O of reaped children to that of the process; the files of its threads have
 * only their own. The rest was inherited, or done by threads that have ended: -ENODATA when that
 * cannot be told apart. */
static int split_io(struct process_reader *r, struct process_source *s, struct process *p,
                    const struct row *whole, enum process_depth depth)
{
    struct thread_io t = {.r = r, .pid = p->entity.pid};
    row_init(&t.sum, ENTITY_PROCESS);
    bool all_own = has_reaped_nobody(r, s, p);
    if (all_own)
        t.sum = *whole;
    else if (s->threads <= 1)
        add_thread_io(&t, p->entity.pid);
    else if (depth == DEPTH_REFRESH || s->threads <= FEW_THREADS)
        process_each_thread(r, p->entity.pid, add_thread_io, &t);
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        if (!row_has(whole, id))
            continue;
        uint64_t own = max_u64(row_u64(&t.sum, id), row_u64(&p->own, id));
        row_put_u64(&p->own, id, min_u64(own, row_u64(whole, id)));
        inherited_put(&p->inherited, id, left_u64(row_u64(whole, id), own));
    }
    bool is_apart = p->has_ended ? had_no_threads(r, s, p) : !s->had_threads;
    return all_own || (t.result == 0 && is_apart) ? 0 : -ENODATA;
}

/* What permissions hide is remembered as such. What was read before stays: an ordinary user may
 * not read the io file of a zombie. */
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
        return split_io(r, s, p, &whole, depth);
    FOR_EACH_BIT(id, whole.present)
    row_put_u64(&p->own, (enum metric_id)id, row_u64(&whole, (enum metric_id)id));
    return 0;
}
