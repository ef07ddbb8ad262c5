/* SPDX-License-Identifier: MIT */
#include "engine/target/reap.h"

#include "base/io/file.h"
#include "base/memory.h"
#include "engine/target/gpus.h"
#include "engine/target/walk.h"
#include "source/pid_files.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

/* Bytes read, or 0 when there is nothing to be had. */
static uint64_t reap_read_io(struct tracked *t, const char *path, struct pid_io *ret)
{
    char text[512];
    ssize_t n = file_read_at(t->root.proc, path, text, sizeof text);
    return n > 0 && parse_pid_io(scan_text(text, (size_t)n), ret) == 0 ? (uint64_t)n : 0;
}

static struct pid_io io_difference(const struct pid_io *a, const struct pid_io *b)
{
    return (struct pid_io){
        .read_bytes = left_u64(a->read_bytes, b->read_bytes),
        .written_bytes = left_u64(a->written_bytes, b->written_bytes),
        .read_calls = left_u64(a->read_calls, b->read_calls),
        .write_calls = left_u64(a->write_calls, b->write_calls),
        .storage_read_bytes = left_u64(a->storage_read_bytes, b->storage_read_bytes),
        .storage_written_bytes = left_u64(a->storage_written_bytes, b->storage_written_bytes),
        .storage_cancelled_bytes = left_u64(a->storage_cancelled_bytes, b->storage_cancelled_bytes),
    };
}

static void io_add(struct pid_io *sum, const struct pid_io *more)
{
    sum->read_bytes += more->read_bytes;
    sum->written_bytes += more->written_bytes;
    sum->read_calls += more->read_calls;
    sum->write_calls += more->write_calls;
    sum->storage_read_bytes += more->storage_read_bytes;
    sum->storage_written_bytes += more->storage_written_bytes;
    sum->storage_cancelled_bytes += more->storage_cancelled_bytes;
}

enum { QUIET_TRIES = 10 };

/* What our further threads have read and written together. How many bytes were read to learn it;
 * 0 when it cannot be. */
static uint64_t read_others_io(struct tracked *t, const pid_t *threads, size_t count,
                               struct pid_io *ret)
{
    uint64_t reading = 0;
    *ret = (struct pid_io){0};
    for (size_t i = 0; i < count; i++) {
        char path[64];
        struct pid_io one;
        snprintf(path, sizeof path, "self/task/%d/io", (int)threads[i]);
        uint64_t n = reap_read_io(t, path, &one);
        if (!n)
            return 0;
        reading += n;
        io_add(ret, &one);
    }
    return reading;
}

/* The file of the process and those of our further threads, of the same moment: nothing may have
 * moved in between, or else what is left over is less than it was. How many bytes were read of
 * them, from the first on; 0 when there is nothing to be had. */
static uint64_t read_whole_io(struct tracked *t, const pid_t *threads, size_t count,
                              struct pid_io *ret, struct pid_io *ret_others)
{
    *ret_others = (struct pid_io){0};
    if (!count)
        return reap_read_io(t, "self/io", ret);
    for (unsigned i = 0; i < QUIET_TRIES; i++) {
        struct pid_io before;
        if (!read_others_io(t, threads, count, &before))
            return 0;
        uint64_t first = reap_read_io(t, "self/io", ret);
        uint64_t second = read_others_io(t, threads, count, ret_others);
        if (!first || !second)
            return 0;
        if (i + 1 == QUIET_TRIES || memcmp(&before, ret_others, sizeof before) == 0)
            return first + second;
    }
    return 0;
}

/* The process's file has the thread's own I/O and that of reaped children; the thread's file has
 * its own alone: the difference was reaped. Reading the first file is itself a read of the thread,
 * which the second one shows. */
static bool reaped_io(struct tracked *t, struct pid_io *ret)
{
    /* Other threads of a host program would be taken for children: then it is not known. */
    struct stat tasks;
    pid_t threads[OWN_THREADS_AT_MOST];
    size_t others = t->reaper.list_threads(t->reaper.list_threads_arg, threads), own = 1 + others;
    if (others > OWN_THREADS_AT_MOST)
        return false;
    if (fstatat(t->root.proc, "self/task", &tasks, 0) < 0 || tasks.st_nlink != 2 + own)
        return false;
    struct pid_io process, thread, beside;
    uint64_t reading = read_whole_io(t, threads, others, &process, &beside);
    if (!reading || !reap_read_io(t, "thread-self/io", &thread))
        return false;
    thread.read_bytes -= reading;
    thread.read_calls -= own;
    io_add(&thread, &beside);
    *ret = io_difference(&process, &thread);
    return true;
}

/* A child has no more memory before its exec than its parent, but for a few pages of its stack. */
static uint64_t own_memory(struct tracked *t)
{
    enum { OF_ITS_OWN = 65536 };
    struct pid_status st = {0};
    ssize_t n = file_read_at(t->root.proc, "self/status", t->reader.text, PROCESS_TEXT_BYTES);
    if (n >= 0 && parse_pid_status(scan_text(t->reader.text, (size_t)n), &st) == 0)
        return st.high_water_bytes + OF_ITS_OWN;
    /* The same mark, where /proc cannot be read: in whole KiB, and of this process at any time. */
    struct rusage own;
    uint64_t peak = getrusage(RUSAGE_SELF, &own) == 0 ? (uint64_t)own.ru_maxrss * 1024
                                                      : UINT64_MAX / 2;
    return peak + OF_ITS_OWN;
}

void reap_begin(struct tracked *t)
{
    struct reaper *r = &t->reaper;
    r->peak_is_exact = true;
    r->floor_rss_bytes = own_memory(t);
    getrusage(RUSAGE_CHILDREN, &r->usage_base);
    r->has_io = reaped_io(t, &r->io_base);
}

void reap_book(struct tracked *t, const struct rusage *usage, const struct pid_io *io)
{
    struct row reaped;
    const struct rusage *base = &t->reaper.usage_base;
    uint64_t user = left_u64(clock_of_timeval(usage->ru_utime), clock_of_timeval(base->ru_utime));
    uint64_t system = left_u64(clock_of_timeval(usage->ru_stime), clock_of_timeval(base->ru_stime));
    row_init(&reaped, ENTITY_PROCESS);
    row_put_u64(&reaped, process_cpu_user_seconds, user);
    row_put_u64(&reaped, process_cpu_system_seconds, system);
    row_put_u64(&reaped, process_cpu_seconds, user + system);
    row_put_u64(&reaped, process_faults_minor_count,
                (uint64_t)(usage->ru_minflt - base->ru_minflt));
    row_put_u64(&reaped, process_faults_major_count,
                (uint64_t)(usage->ru_majflt - base->ru_majflt));
    row_put_u64(&reaped, process_switches_voluntary_count,
                (uint64_t)(usage->ru_nvcsw - base->ru_nvcsw));
    row_put_u64(&reaped, process_switches_involuntary_count,
                (uint64_t)(usage->ru_nivcsw - base->ru_nivcsw));
    if (io) {
        struct pid_io grown = io_difference(io, &t->reaper.io_base);
        process_put_io(&reaped, &grown);
    }
    ledger_put_reaped(&t->whole->ledger, &reaped);
}

/* The kernel's high-water mark begins with the memory the child had before exec. Below that it says
 * nothing of the job: then only what was seen counts. */
static void book_peak(struct tracked *t, uint64_t peak_bytes)
{
    if (peak_bytes <= t->reaper.floor_rss_bytes) {
        if (!row_has(&t->whole->ledger.reaped, process_memory_peak_bytes))
            t->reaper.peak_is_exact = false;
        return;
    }
    t->reaper.peak_is_exact = true;
    ledger_raise_reaped_peak(&t->whole->ledger, peak_bytes);
}

/* Of a process that reaped a child, user and system time are known in whole ticks only, and so is
 * what it inherited of either; known exactly are its CPU time and, in rusage, the user and system
 * time of both together. So each has a range, and what lies in both is what it may have been. */
static void divide_cpu(struct process *p, const struct rusage *usage, uint64_t tick)
{
    uint64_t cpu = row_u64(&p->own, process_cpu_seconds);
    uint64_t user = row_u64(&p->own, process_cpu_user_seconds);
    uint64_t system = row_u64(&p->own, process_cpu_system_seconds);
    uint64_t most_user = left_u64(clock_of_timeval(usage->ru_utime),
                                  inherited_u64(&p->inherited, process_cpu_user_seconds));
    uint64_t most_system = left_u64(clock_of_timeval(usage->ru_stime),
                                    inherited_u64(&p->inherited, process_cpu_system_seconds));
    uint64_t least_user = max_u64(user, left_u64(most_user, tick));
    uint64_t least_system = max_u64(system, left_u64(most_system, tick));
    least_user = max_u64(least_user, left_u64(cpu, min_u64(most_system, system + tick)));
    least_system = max_u64(least_system, left_u64(cpu, min_u64(most_user, user + tick)));
    uint64_t share = ledger_user_share(cpu, most_user, most_system, least_user, least_system);
    row_put_u64(&p->own, process_cpu_user_seconds, share);
    row_put_u64(&p->own, process_cpu_system_seconds, cpu - share);
    p->fresh &= ~(BIT(process_cpu_user_seconds) | BIT(process_cpu_system_seconds));
}

/* A process that reaped no child has all of rusage for itself, to the microsecond. A child that
 * shared its memory and called no exec may have had no page fault, but CPU time, which is in rusage
 * and not in the CPU clock. The last instructions of a process may run after its clock was read. */
#define AFTER_THE_CLOCK_NS (100 * NS_PER_US)

static bool reap_had_children(const struct process *p, const struct rusage *usage, bool has_clock)
{
    uint64_t both_ns = clock_of_timeval(usage->ru_utime) + clock_of_timeval(usage->ru_stime);
    bool is_last_clock = has_clock && p->has_ended && row_has(&p->own, process_cpu_seconds);
    return inherited_u64(&p->inherited, process_cpu_seconds) ||
           inherited_u64(&p->inherited, process_faults_minor_count) ||
           (is_last_clock && both_ns > row_u64(&p->own, process_cpu_seconds) + AFTER_THE_CLOCK_NS);
}

static void reap_sharpen(struct process *p, const struct rusage *usage,
                         const struct process_reader *r, uint64_t floor_rss_bytes)
{
    if (reap_had_children(p, usage, r->has_clock)) {
        divide_cpu(p, usage, r->ns_per_tick);
        return;
    }
    row_put_u64(&p->own, process_cpu_user_seconds, clock_of_timeval(usage->ru_utime));
    row_put_u64(&p->own, process_cpu_system_seconds, clock_of_timeval(usage->ru_stime));
    row_put_u64(&p->own, process_cpu_seconds,
                clock_of_timeval(usage->ru_utime) + clock_of_timeval(usage->ru_stime));
    row_put_u64(&p->own, process_switches_voluntary_count, (uint64_t)usage->ru_nvcsw);
    row_put_u64(&p->own, process_switches_involuntary_count, (uint64_t)usage->ru_nivcsw);
    p->fresh |= BIT(process_switches_voluntary_count) | BIT(process_switches_involuntary_count);
    uint64_t peak = (uint64_t)usage->ru_maxrss * 1024;
    if (peak <= floor_rss_bytes)
        return;
    row_put_u64(&p->own, process_memory_peak_bytes, peak);
    p->fresh |= BIT(process_memory_peak_bytes);
}

struct toll_end reap_end_of(int status)
{
    bool signaled = WIFSIGNALED(status);
    return (struct toll_end){
        .ended = true,
        .signaled = signaled,
        .core_dumped = signaled && WCOREDUMP(status),
        .status = signaled ? WTERMSIG(status) : WEXITSTATUS(status),
    };
}

static void add_to_base(struct rusage *base, const struct rusage *usage)
{
    timeradd(&base->ru_utime, &usage->ru_utime, &base->ru_utime);
    timeradd(&base->ru_stime, &usage->ru_stime, &base->ru_stime);
    base->ru_minflt += usage->ru_minflt;
    base->ru_majflt += usage->ru_majflt;
    base->ru_nvcsw += usage->ru_nvcsw;
    base->ru_nivcsw += usage->ru_nivcsw;
}

/* What it brings into the accounts of this process is taken into what was there before. */
static bool reap_stranger(struct tracked *t, pid_t pid)
{
    struct rusage usage;
    struct pid_io before = {0}, after = {0};
    t->reaper.has_io = t->reaper.has_io && reaped_io(t, &before);
    if (wait4(pid, NULL, WNOHANG, &usage) != pid)
        return false;
    t->reaper.has_io = t->reaper.has_io && reaped_io(t, &after);
    struct pid_io brought = io_difference(&after, &before);
    io_add(&t->reaper.io_base, &brought);
    add_to_base(&t->reaper.usage_base, &usage);
    map_remove(&t->discovery.strangers, (uint32_t)pid);
    return true;
}

bool reap_wants_walk(const struct tracked *t, pid_t pid, uint64_t spacing_ns, uint64_t now_ns)
{
    if (!pid || membership_is_stranger(t, pid))
        return false;
    const struct member *m = members_find(&t->members, pid);
    if (!m || !m->had_children)
        return false;
    /* Many of them at once: not more than the budget allows. */
    return pid == t->launched.pid || now_ns >= t->discovery.walked_ns + spacing_ns;
}

/* What the end of a child of the job brings. m: the child as it was last looked at, or NULL. usage
 * NULL: unknown. */
static void book_end(struct tracked *t, pid_t pid, struct member *m, int status,
                     const struct rusage *usage, uint64_t now_ns)
{
    struct toll_end end = reap_end_of(status);
    if (pid == t->launched.pid) {
        t->reaper.main_reaped = true;
        t->reaper.end = end;
        t->reaper.main_end_ns = now_ns;
    }
    t->reaper.last_end_ns = now_ns;
    if (usage)
        book_peak(t, (uint64_t)usage->ru_maxrss * 1024);
    else
        t->reaper.peak_is_exact = false;
    if (m && usage)
        reap_sharpen(&m->process, usage, &t->reader, t->reaper.floor_rss_bytes);
    if (m)
        departure_reaped(t, m, &end, now_ns);
}

/* It is not known how the command ended: another thread has waited for it, or nothing can. */
static void miss_end(struct tracked *t, const char *why)
{
    t->reaper.main_reaped = true;
    t->reaper.main_end_ns = t->reaper.last_end_ns = clock_mono(NULL);
    t->reaper.end = (struct toll_end){.ended = true, .unknown = true};
    ledger_note_loss(&t->whole->ledger);
    tracked_note(t, "%s; its exit status is unknown and its usage a lower bound", why);
}

/* Where the kernel does not say which child has ended before it is reaped (a sandbox may refuse
 * that), a child is booked as it was last looked at. */
static int reap_unlooked(struct tracked *t)
{
    struct rusage usage;
    int status;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0)
        return pid < 0 ? -errno : 0;
    if (membership_is_stranger(t, pid)) {
        add_to_base(&t->reaper.usage_base, &usage);
        t->reaper.has_io = false; /* its part is mixed with the job's */
        map_remove(&t->discovery.strangers, (uint32_t)pid);
    } else {
        book_end(t, pid, members_find(&t->members, pid), status, &usage, clock_mono(NULL));
    }
    return 1;
}

int reap_one(struct tracked *t, pid_t pid, uint64_t now_ns)
{
    if (!pid)
        return reap_unlooked(t);
    if (membership_is_stranger(t, pid))
        return reap_stranger(t, pid);
    struct member *m = walk_last_look(t, pid, now_ns);
    struct rusage usage;
    int status;
    pid_t found = wait4(pid, &status, WNOHANG, &usage);
    if (found == pid) {
        book_end(t, pid, m, status, &usage, now_ns);
        return 1;
    }
    if (found == 0 || errno == ECHILD || errno == EINTR)
        return 0;
    /* wait4 is refused: how it ended is known from waitid, what it used is not. */
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) < 0 || info.si_pid != pid) {
        if (pid == t->launched.pid)
            miss_end(t, "cannot wait for the command");
        return t->reaper.no_waitid; /* else it would be found again and again */
    }
    status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
    if (info.si_code == CLD_DUMPED)
        status |= WCOREFLAG;
    book_end(t, pid, m, status, NULL, now_ns);
    return 1;
}

int reap_find(struct tracked *t, pid_t *ret)
{
    siginfo_t info = {0};
    if (!t->reaper.no_waitid) {
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
            *ret = info.si_pid;
            return info.si_pid != 0;
        }
        if (errno == ECHILD || errno == EINTR)
            return -errno;
        t->reaper.no_waitid = true;
    }
    /* The pidfd of the command still says when that has ended. */
    struct pollfd end = {.fd = t->launched.pidfd, .events = POLLIN};
    if (!t->reaper.main_reaped && end.fd >= 0 && poll(&end, 1, 0) > 0 && end.revents) {
        *ret = t->launched.pid;
        return 1;
    }
    *ret = 0;
    return 1;
}

void reap_helpers(struct tracked *t, bool of_job)
{
    struct map *strangers = &t->discovery.strangers;
    for (uint32_t i = 0; strangers->count && i < strangers->capacity; i++) {
        struct rusage usage = {0};
        pid_t pid = (pid_t)strangers->slots[i].key;
        if (!pid)
            continue;
        if (!of_job) {
            pid_t found = waitpid(pid, NULL, WNOHANG | __WALL);
            if (found == pid || (found < 0 && errno == ECHILD))
                map_remove(strangers, (uint32_t)pid);
            continue;
        }
        /* They end without a signal and are not found among the others. A driver in one may use
         * files: that one is reaped after the accounts are closed. The others use none. */
        if (gpus_own_child(t->gpus, pid) || wait4(pid, NULL, WNOHANG | __WCLONE, &usage) != pid)
            continue;
        add_to_base(&t->reaper.usage_base, &usage);
        map_remove(strangers, (uint32_t)pid);
    }
}

void reap_end(struct tracked *t, int result, bool has_reaped)
{
    struct reaper *r = &t->reaper;
    if (result == 0 && t->discovery.strangers.count)
        r->no_children_left = !membership_has_children(t);
    else if (result < 0)
        r->no_children_left = result == -ECHILD;
    if (result == -ECHILD && !r->main_reaped)
        miss_end(t, "another part of the program waited for the command");
    if (!has_reaped)
        return;
    members_sweep(&t->members);
    struct rusage usage;
    struct pid_io io;
    getrusage(RUSAGE_CHILDREN, &usage);
    r->has_io = r->has_io && reaped_io(t, &io);
    reap_book(t, &usage, r->has_io ? &io : NULL);
}

/* ==== Task records ============================================================================ */

/* The proof of a loss. A process that executed a program had page faults, and whichever process
 * waits for it inherits them (cminflt). A parent that is alive, whose child has gone and which has
 * inherited nothing since before that child ended, did not wait for it. It is enough that one
 * reading of the parent was made before the end of the child; before the first one it had inherited
 * nothing. */

enum { PARENTS_AT_MOST = 1 << 16 };

void exits_open(struct exit_watch *w, pid_t child)
{
    w->failure = task_records_open(&w->records, child);
    w->is_on = w->failure == 0;
}

void exits_begin(struct exit_watch *w, struct tracked *t, const struct wakeup *wakeup)
{
    int failure = w->failure;
    if (failure)
        tracked_note(t,
                     "--watch-exits: %s (see toll doctor watch-exits); children that are not "
                     "waited for may be missed between samples",
                     failure == -EACCES || failure == -EPERM
                         ? "not permitted by the kernel or a sandbox"
                     : failure == -ENOMEM ? "limit on locked memory too low (ulimit -l)"
                                          : strerror(-failure));
    for (size_t i = 0; w->is_on && task_records_fd(&w->records, i) >= 0; i++)
        wakeup_watch(wakeup, task_records_fd(&w->records, i));
}

/* What is known of a parent, by its pid. */
struct exit_parent {
    uint64_t start_ticks;
    uint64_t faults;  /* that it had inherited at read_ns */
    uint64_t read_ns; /* 0: at its birth */
    uint64_t faults_now;
    uint64_t round; /* in which that was read */
    bool is_alive;
    bool loss_noted;
    char name[ENTITY_NAME_BYTES];
};

static struct exit_parent *exits_find_parent(struct exit_watch *w, pid_t pid)
{
    uint32_t at;
    if (map_get(&w->by_pid, (uint32_t)pid, &at))
        return &w->parents[at];
    if (w->parent_count == PARENTS_AT_MOST) {
        map_clear(&w->by_pid);
        w->parent_count = 0;
    }
    if (!ARRAY_RESERVE(w->parents, w->parent_capacity, w->parent_count + 1))
        return NULL;
    if (map_put(&w->by_pid, (uint32_t)pid, (uint32_t)w->parent_count) < 0)
        return NULL;
    w->parents[w->parent_count] = (struct exit_parent){0};
    return &w->parents[w->parent_count++];
}

static void exits_read_parent(struct exit_watch *w, struct process_reader *r, pid_t pid,
                              struct exit_parent *p)
{
    struct pid_stat st;
    p->round = w->round;
    p->is_alive = false;
    ssize_t n = process_read_once(r, pid, "stat");
    if (n < 0 || parse_pid_stat(scan_text(r->text, (size_t)n), &st) < 0 || st.state == 'Z' ||
        st.state == 'X' || !st.threads)
        return;
    if (st.start_ticks != p->start_ticks)
        *p = (struct exit_parent){.start_ticks = st.start_ticks, .round = p->round};
    p->is_alive = true;
    p->faults_now = st.children_faults_minor;
    size_t length = min_u64(st.name_length, sizeof p->name - 1);
    memcpy(p->name, st.name, length);
    p->name[length] = '\0';
}

static void exits_judge(struct exit_watch *w, struct tracked *t)
{
    struct task_records *r = &w->records;
    uint64_t began_ns = clock_mono(NULL);
    w->round++;
    /* All children are looked for before any parent is read: what it inherited by then is there. */
    for (size_t i = 0; i < r->exit_count; i++)
        if (kill(r->exits[i].pid, 0) == 0 || errno != ESRCH)
            r->exits[i].has_execed = false; /* its pid is in use: it was neither reaped nor lost */
    for (size_t i = 0; i < r->exit_count; i++) {
        const struct task_exit *e = &r->exits[i];
        if (!e->has_execed || e->parent <= 1 || e->parent == getpid())
            continue;
        struct exit_parent *p = exits_find_parent(w, e->parent);
        if (!p)
            continue;
        if (p->round != w->round)
            exits_read_parent(w, &t->reader, e->parent, p);
        /* A pid may be in use again: the parent was there well before. */
        uint64_t ago_ns = left_u64(clock_mono(NULL), e->at_ns);
        uint64_t ended_ns = left_u64(clock_since_boot(), ago_ns);
        bool was_there = (p->start_ticks + 2) * t->reader.ns_per_tick < ended_ns;
        if (!p->is_alive || p->faults_now != p->faults || e->at_ns <= p->read_ns || !was_there)
            continue;
        ledger_note_loss(&t->whole->ledger);
        struct member *m = members_find_any(&t->members, e->parent);
        if (!p->loss_noted && !(m && m->loss_noted) && !t->ends)
            tracked_note(
                t, "process %d (%s) does not wait for its children; their usage is a lower bound",
                (int)e->parent, p->name);
        p->loss_noted = true;
        if (m)
            m->loss_noted = true;
    }
    for (size_t i = 0; i < w->parent_count; i++)
        if (w->parents[i].round == w->round && w->parents[i].is_alive &&
            w->parents[i].faults != w->parents[i].faults_now) {
            w->parents[i].faults = w->parents[i].faults_now;
            w->parents[i].read_ns = clock_mono(NULL);
        }
    t->discovery.apart_ns += left_u64(clock_mono(NULL), began_ns);
}

void exits_read(struct exit_watch *w, struct tracked *t, bool last)
{
    if (!w->is_on)
        return;
    w->taken_ns = clock_mono(NULL);
    task_records_read(&w->records, last);
    const struct map *children = &w->records.own_children;
    for (uint32_t i = 0; children->count && i < children->capacity; i++) {
        pid_t pid = (pid_t)children->slots[i].key;
        if (pid && !membership_is_stranger(t, pid)) /* it is no helper of ours */
            w->records.is_incomplete = true;
    }
    if (t->root.pids >= 0)
        exits_judge(w, t);
    ledger_put_recorded(&t->whole->ledger, 1 + w->records.started);
}

uint64_t exits_due(const struct exit_watch *w)
{
    uint64_t interval_ns = w->is_on ? task_records_interval(&w->records) : 0;
    return interval_ns ? w->taken_ns + interval_ns : UINT64_MAX;
}

bool exits_are_complete(const struct exit_watch *w)
{
    return w->is_on && !w->records.is_incomplete;
}

void exits_close(struct exit_watch *w)
{
    task_records_close(&w->records);
    free(w->parents);
    map_done(&w->by_pid);
    *w = (struct exit_watch){0};
}
