/* SPDX-License-Identifier: MIT */
#include "engine/target/process_ends.h"

#include "engine/target/reap.h"
#include "source/proc/reader.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Lines of processes one by one; after these only of processes that used CPU time worth a line. */
enum { LINES_AT_MOST = 10000, FOLDS_AT_MOST = 256 };
#define WORTH_A_LINE_NS (100 * NS_PER_MS)

/* What walks noticed without a record is sent then: it was lost, or the process had left the
 * cgroup. */
#define WITHOUT_RECORD_NS (200 * NS_PER_MS)

/* At the end of the run: a CPU of a virtual machine may stand still while a task makes its last
 * switch. Of processes that left the cgroup no records come. */
#define LAST_RECORDS_NS              (200 * NS_PER_MS)
#define LAST_RECORDS_WITH_OUTSIDE_NS (20 * NS_PER_MS)

/* Walks meet a process that is not reaped within a second. */
#define UNREAPED_NS (2 * NS_PER_SECOND)

/* A process as far as its end is known. */
struct pending_end {
    struct task_end sum; /* of the tasks that have ended; signals 0: none has */
    uint64_t threads;    /* of which the record has come */
    pid_t pid;
    bool has_identity, has_ended;
    bool is_sent;           /* and still a member, which its parent has not reaped */
    bool is_over;           /* sent, and to be forgotten */
    uint64_t kept_ns;       /* when it was found to have left */
    struct process *seen;   /* owned: as the walks had it; NULL: not seen to leave */
    struct process_end end; /* of that */
};

/* Processes of one program, with one parent, that ended in the same way. */
struct folded_end {
    struct process process;
    struct toll_end end;
    uint64_t count, threads, begin_ns, end_ns;
};

#define M(name) BIT(process_##name)

static const uint64_t recorded_counters = M(cpu_seconds) | M(cpu_user_seconds) |
                                          M(cpu_system_seconds) | M(faults_minor_count) |
                                          M(faults_major_count) | M(switches_voluntary_count) |
                                          M(switches_involuntary_count) | PROCESS_IO_BITS |
                                          PROCESS_SOCKET_BITS;

/* ==== Pending ================================================================================= */

static struct pending_end *ends_find(const struct process_ends *l, pid_t pid)
{
    uint32_t at;
    return map_get(&l->by_pid, (uint32_t)pid, &at) ? &l->pending[at] : NULL;
}

static struct pending_end *ends_add(struct process_ends *l, pid_t pid)
{
    if (!ARRAY_RESERVE(l->pending, l->pending_capacity, l->pending_count + 1) ||
        map_put(&l->by_pid, (uint32_t)pid, (uint32_t)l->pending_count) < 0)
        return NULL;
    struct pending_end *p = &l->pending[l->pending_count++];
    *p = (struct pending_end){.pid = pid};
    return p;
}

static void ends_forget_seen(struct pending_end *p)
{
    if (p->seen)
        free(p->seen->command);
    free(p->seen);
    p->seen = NULL;
}

/* The last one takes its place. */
static void ends_remove(struct process_ends *l, struct pending_end *p)
{
    struct pending_end *last = &l->pending[l->pending_count - 1];
    ends_forget_seen(p);
    map_remove(&l->by_pid, (uint32_t)p->pid);
    if (p != last) {
        *p = *last;
        map_put(&l->by_pid, (uint32_t)p->pid, (uint32_t)(p - l->pending));
    }
    l->pending_count--;
}

/* ==== Sending ================================================================================= */

/* Counters of a task, or of all tasks of a process. */
static void ends_put_counters(struct row *row, const struct task_end *e, bool has_io)
{
    struct pid_io io = {
        .read_bytes = e->io_read_bytes,
        .written_bytes = e->io_written_bytes,
        .read_calls = e->io_read_calls,
        .write_calls = e->io_write_calls,
        .storage_read_bytes = e->storage_read_bytes,
        .storage_written_bytes = e->storage_written_bytes,
        .storage_cancelled_bytes = e->storage_cancelled_bytes,
    };
    uint64_t user = ledger_user_share(e->cpu_ns, e->user_ticks_ns, e->system_ticks_ns, 0, 0);
    row_put_u64(row, process_cpu_seconds, e->cpu_ns);
    row_put_u64(row, process_cpu_user_seconds, user);
    row_put_u64(row, process_cpu_system_seconds, e->cpu_ns - user);
    row_put_u64(row, process_faults_minor_count, e->faults_minor);
    row_put_u64(row, process_faults_major_count, e->faults_major);
    row_put_u64(row, process_switches_voluntary_count, e->switches_voluntary);
    row_put_u64(row, process_switches_involuntary_count, e->switches_involuntary);
    if (has_io)
        process_put_io(row, &io);
}

static void ends_put_traffic(struct row *row, uint64_t sent_bytes, uint64_t received_bytes)
{
    row_put_u64(row, process_socket_sent_bytes, sent_bytes);
    row_put_u64(row, process_socket_received_bytes, received_bytes);
}

/* What the kernel recorded replaces what samples had. */
static void ends_put_record(const struct process_ends *l, const struct pending_end *p,
                            const struct tracked *t, struct process *ret, uint64_t *ret_end_ns)
{
    const struct task_end *e = &p->sum;
    struct row *row = &ret->own;
    uint64_t boot_ns = left_u64(clock_since_boot(), clock_mono(NULL)); /* when the other was 0 */
    uint64_t begin_ns = left_u64(e->start_ns, boot_ns);
    ends_put_counters(row, e, l->has_io);
    if (l->has_traffic && p->has_ended)
        ends_put_traffic(row, e->sent_bytes, e->received_bytes);
    if (e->peak_pages)
        row_put_u64(row, process_memory_peak_bytes, e->peak_pages * t->reader.page_bytes);
    row_put_u64(row, process_wall_seconds, left_u64(e->end_ns, begin_ns));
    ret->denied &= ~(row->present & (recorded_counters | M(memory_peak_bytes)));
    ret->baseline = (struct tick_times){0};
    ret->has_ended = true;
    *ret_end_ns = left_u64(e->end_ns, t->start_ns);
    struct entity *entity = &ret->entity;
    entity->kind = ENTITY_PROCESS;
    entity->pid = p->pid;
    if (e->parent)
        entity->parent = e->parent;
    if (!entity->start_ticks)
        entity->start_ticks = e->start_ns / t->reader.ns_per_tick;
    entity->targets = t->whole->bit;
    snprintf(entity->name, sizeof entity->name, "%s", e->name);
}

/* Masking takes longer than all else here, and children often have the same arguments. */
static char *ends_command(struct process_ends *l, const struct tracked *t, const struct task_end *e)
{
    struct task_end *last = &l->with_command;
    if (!e->arguments_bytes || !e->arguments[0])
        return NULL;
    if (last->arguments_bytes != e->arguments_bytes ||
        memcmp(last->arguments, e->arguments, e->arguments_bytes) != 0) {
        char text[TASK_ARGUMENTS_BYTES + 1];
        memcpy(text, e->arguments, e->arguments_bytes);
        free(l->command);
        l->command = process_command_of(t->reader.commands, text, e->arguments_bytes + 1);
        *last = *e;
    }
    return l->command ? strdup(l->command) : NULL;
}

static bool ends_are_alike(const struct folded_end *f, const struct entity *e,
                           const struct toll_end *end, bool with_parent)
{
    return (!with_parent || f->process.entity.parent == e->parent) &&
           f->end.status == end->status && f->end.signaled == end->signaled &&
           strcmp(f->process.entity.name, e->name) == 0;
}

/* Where there are too many folds, one with another parent is taken, or the last of all. */
static struct folded_end *ends_find_fold(struct process_ends *l, const struct process *p,
                                         const struct toll_end *end)
{
    for (size_t i = 0; i < l->fold_count; i++)
        if (ends_are_alike(&l->folds[i], &p->entity, end, true))
            return &l->folds[i];
    for (size_t i = 0; l->fold_count == FOLDS_AT_MOST && i < l->fold_count; i++)
        if (ends_are_alike(&l->folds[i], &p->entity, end, false)) {
            l->folds[i].process.entity.parent = 0;
            return &l->folds[i];
        }
    if (l->fold_count == FOLDS_AT_MOST) {
        struct folded_end *rest = &l->folds[FOLDS_AT_MOST - 1];
        rest->process.entity.parent = 0;
        snprintf(rest->process.entity.name, sizeof rest->process.entity.name, "(others)");
        rest->end = (struct toll_end){.ended = true, .unknown = true};
        return rest;
    }
    if (!ARRAY_RESERVE(l->folds, l->fold_capacity, l->fold_count + 1))
        return NULL;
    struct folded_end *f = &l->folds[l->fold_count++];
    *f = (struct folded_end){.process = *p, .end = *end, .begin_ns = UINT64_MAX};
    f->process.command = NULL;
    f->process.own.present = 0;
    return f;
}

static bool ends_fold(struct process_ends *l, const struct process *p, const struct process_end *e)
{
    struct folded_end *f = ends_find_fold(l, p, &e->end);
    if (!f)
        return false;
    uint64_t peak = max_u64(row_u64(&f->process.own, process_memory_peak_bytes),
                            row_u64(&p->own, process_memory_peak_bytes));
    uint64_t lived = row_u64(&p->own, process_wall_seconds);
    FOR_EACH_BIT(id, p->own.present & recorded_counters)
    row_put_u64(&f->process.own, id, row_u64(&f->process.own, id) + row_u64(&p->own, id));
    if (peak)
        row_put_u64(&f->process.own, process_memory_peak_bytes, peak);
    f->begin_ns = min_u64(f->begin_ns, left_u64(e->elapsed_ns, lived));
    f->end_ns = max_u64(f->end_ns, e->elapsed_ns);
    f->threads += e->threads;
    f->count++;
    l->folded++;
    return true;
}

/* What samples have of the main process lacks what came after the last one. */
static void ends_put_main(const struct process_ends *l, struct tracked *t,
                          const struct pending_end *p)
{
    struct row row;
    if (!l->has_traffic || !p->has_ended || p->pid != t->whole->ledger.main)
        return;
    row_init(&row, ENTITY_PROCESS);
    ends_put_traffic(&row, p->sum.sent_bytes, p->sum.received_bytes);
    ledger_put_main(&t->whole->ledger, &row);
}

/* One line, or a part of a fold. */
static void ends_send(struct process_ends *l, struct tracked *t, struct pending_end *p)
{
    struct process process = {.entity = {.kind = ENTITY_PROCESS}};
    struct process_end e = {.how = LEFT_UNSEEN};
    bool is_written = t->options->processes != TOLL_PROCESSES_NONE;
    row_init(&process.own, ENTITY_PROCESS);
    if (p->seen) {
        process = *p->seen;
        p->seen->command = NULL;
        e = p->end;
    }
    if (p->has_identity && (p->has_ended || !p->seen)) {
        ends_put_record(l, p, t, &process, &e.elapsed_ns);
        if (!p->has_ended) /* some records of its threads were lost */
            process.denied |= recorded_counters;
        e.has_status = true;
        e.is_recorded = p->has_ended;
        e.end = reap_end_of(task_end_status(&p->sum));
        e.threads = p->threads;
        l->line_cpu_ns += p->sum.cpu_ns;
        ends_put_main(l, t, p);
    }
    l->ended += p->has_ended;
    e.process = &process;
    bool is_small = p->has_ended && p->sum.cpu_ns < WORTH_A_LINE_NS;
    if (l->lines < LINES_AT_MOST || !is_small || !ends_fold(l, &process, &e)) {
        if (p->has_identity && !process.command)
            process.command = ends_command(l, t, &p->sum);
        events_add_end(&t->events, &e, is_written);
        l->lines++;
    }
    free(process.command);
    ends_forget_seen(p);
}

/* ==== Taking ================================================================================== */

/* A pid may be in use again. */
static bool ends_is_same(const struct pending_end *p, const struct tracked *t,
                         const struct entity *e)
{
    uint64_t ticks = p->sum.start_ns / t->reader.ns_per_tick;
    bool is_known = p->has_identity && e->start_ticks;
    return !is_known || (ticks <= e->start_ticks + 1 && e->start_ticks <= ticks + 1);
}

bool process_ends_keep(struct process_ends *l, struct tracked *t, const struct process_end *e)
{
    const struct entity *entity = &e->process->entity;
    struct pending_end *p = ends_find(l, entity->pid);
    if (p && p->is_sent && ends_is_same(p, t, entity)) {
        ends_remove(l, p);
        return true;
    }
    if (p && (p->is_sent || p->seen || !ends_is_same(p, t, entity))) {
        if (!p->is_sent && (p->has_ended || p->seen))
            ends_send(l, t, p);
        ends_remove(l, p);
        p = NULL;
    }
    struct process *seen = malloc(sizeof *seen);
    if (!seen || (!p && !(p = ends_add(l, entity->pid)))) {
        free(seen);
        return false;
    }
    *seen = *e->process;
    seen->command = e->process->command ? strdup(e->process->command) : NULL;
    p->seen = seen;
    p->end = *e;
    p->kept_ns = clock_mono(NULL);
    return true;
}

static void ends_add_task(struct pending_end *p, const struct task_end *e)
{
    struct task_end *sum = &p->sum;
    sum->cpu_ns += e->cpu_ns;
    sum->user_ticks_ns += e->user_ticks_ns;
    sum->system_ticks_ns += e->system_ticks_ns;
    sum->io_read_bytes += e->io_read_bytes;
    sum->io_written_bytes += e->io_written_bytes;
    sum->io_read_calls += e->io_read_calls;
    sum->io_write_calls += e->io_write_calls;
    sum->storage_read_bytes += e->storage_read_bytes;
    sum->storage_written_bytes += e->storage_written_bytes;
    sum->storage_cancelled_bytes += e->storage_cancelled_bytes;
    sum->faults_minor += e->faults_minor;
    sum->faults_major += e->faults_major;
    sum->switches_voluntary += e->switches_voluntary;
    sum->switches_involuntary += e->switches_involuntary;
    if (e->threads) {
        sum->threads = e->threads;
        sum->sent_bytes = e->sent_bytes;
        sum->received_bytes = e->received_bytes;
    }
    p->threads++;
}

/* Of a process, or of its first thread: which one it is and how it ended. */
static void ends_take_identity(struct pending_end *p, const struct task_end *e)
{
    struct task_end *sum = &p->sum;
    p->has_identity = true;
    sum->start_ns = e->start_ns;
    sum->parent = e->parent;
    sum->exit_code = e->exit_code;
    memcpy(sum->name, e->name, sizeof sum->name);
    if (e->kind != TASK_END_PROCESS)
        return;
    sum->peak_pages = e->peak_pages;
    sum->arguments_bytes = e->arguments_bytes;
    memcpy(sum->arguments, e->arguments, e->arguments_bytes);
}

/* Its pid is in use again. Sends what was not sent; a walk that has not looked since notices that
 * it has left, and must not send it a second time. */
static void ends_take_over(struct process_ends *l, struct tracked *t, struct pending_end *p)
{
    struct member *m = p->seen ? NULL : members_find(&t->members, p->pid);
    bool is_known = p->has_ended || p->seen;
    if (!p->is_sent && is_known)
        ends_send(l, t, p);
    if (m && (p->is_sent || is_known) && ends_is_same(p, t, &m->process.entity))
        m->end_is_sent = true;
    ends_remove(l, p);
}

static void ends_take(void *arg, const struct task_end *e)
{
    struct tracked *t = arg;
    struct process_ends *l = t->ends;
    struct pending_end *p = ends_find(l, e->pid);
    l->records++;
    l->tasks += e->kind == TASK_END_THREAD;
    bool is_another = p && p->sum.signals && p->sum.signals != e->signals;
    if (is_another) {
        ends_take_over(l, t, p);
        p = NULL;
    }
    if (!p && !(p = ends_add(l, e->pid)))
        return;
    struct task_end *sum = &p->sum;
    sum->signals = e->signals;
    sum->signal_flags = e->signal_flags;
    sum->group_exit_code = e->group_exit_code;
    sum->end_ns = max_u64(sum->end_ns, e->end_ns);
    if (e->kind == TASK_END_PROCESS) {
        l->peak_bytes = max_u64(l->peak_bytes, e->peak_pages * t->reader.page_bytes);
        ends_take_identity(p, e);
        return;
    }
    struct row one;
    row_init(&one, ENTITY_PROCESS);
    ends_put_counters(&one, e, l->has_io);
    row_add(&l->sum, &one, one.present);
    ends_add_task(p, e);
    if (e->thread == e->pid && !l->has_processes)
        ends_take_identity(p, e);
    p->has_ended |= sum->threads && p->threads >= sum->threads && p->has_identity;
}

/* Forgets those that are marked, and keeps the order of the others. */
static void ends_sweep(struct process_ends *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->pending_count; i++) {
        struct pending_end *p = &l->pending[i];
        if (p->is_over) {
            ends_forget_seen(p);
            map_remove(&l->by_pid, (uint32_t)p->pid);
            continue;
        }
        if (kept != i) {
            l->pending[kept] = *p;
            map_put(&l->by_pid, (uint32_t)p->pid, (uint32_t)kept);
        }
        kept++;
    }
    l->pending_count = kept;
}

/* Sends what is complete, in the order of the ends. */
static void ends_send_complete(struct process_ends *l, struct tracked *t, bool last)
{
    uint64_t now_ns = clock_mono(NULL);
    bool has_lost = task_ends_totals(l->source).lost != 0;
    bool has_sent = false;
    for (size_t i = 0; i < l->pending_count; i++) {
        struct pending_end *p = &l->pending[i];
        /* Of some, records were lost; where the first has come, only a loss keeps the last away. */
        bool may_come = p->has_identity && l->has_processes && !has_lost;
        bool is_overdue = !may_come && now_ns > p->kept_ns + WITHOUT_RECORD_NS;
        bool is_given_up = !p->has_ended && (p->seen ? last || is_overdue
                                                     : last && p->has_identity && l->has_processes);
        /* The rest of its records does not come: it must not be kept for ever. */
        if (has_lost && !p->has_ended && !p->seen && !p->is_sent && !last &&
            now_ns > p->sum.end_ns + UNREAPED_NS && kill(p->pid, 0) < 0 && errno == ESRCH) {
            is_given_up = p->has_identity && l->has_processes;
            has_sent |= p->is_over = !is_given_up;
        }
        if (p->is_sent || !(p->has_ended || is_given_up))
            continue;
        /* Until its parent has reaped it, a walk may still meet it and notice its leaving. */
        const struct member *m = p->seen ? NULL : members_find(&t->members, p->pid);
        bool is_member = m && m->was_seen && ends_is_same(p, t, &m->process.entity);
        bool is_there = is_member || (!p->seen && (kill(p->pid, 0) == 0 || errno != ESRCH));
        bool is_awaited = is_member || now_ns < p->sum.end_ns + UNREAPED_NS;
        if (is_there && is_awaited && !last)
            continue;
        ends_send(l, t, p);
        p->is_sent = is_there;
        p->is_over = !is_there;
        has_sent = true;
    }
    if (has_sent)
        ends_sweep(l);
}

void process_ends_read(struct process_ends *l, struct tracked *t)
{
    if (!l->source)
        return;
    task_ends_read(l->source, ends_take, t);
    ends_send_complete(l, t, false);
}

/* ==== Totals ================================================================================== */

void process_ends_before_walk(struct process_ends *l, struct tracked *t)
{
    process_ends_read(l, t);
    if (l->source)
        l->ended_before = l->has_processes ? task_ends_totals(l->source).processes : l->ended;
}

/* Network bytes of the members that live. One that the kernel does not know has used no socket, as
 * long as there was room for all and none has left the cgroup. */
static void ends_read_traffic(const struct process_ends *l, struct tracked *t, bool has_outside)
{
    const struct process_traffic *traffic;
    ssize_t n = l->has_traffic ? task_ends_read_traffic(l->source, &traffic) : -ENODATA;
    if (n < 0)
        return;
    bool are_all_known = !has_outside && !task_ends_totals(l->source).uncounted;
    for (size_t i = 0; are_all_known && i < t->members.count; i++) {
        struct row *own = &t->members.order[i]->process.own;
        if (row_has(own, process_socket_sent_bytes) || !t->members.order[i]->was_seen)
            continue;
        ends_put_traffic(own, 0, 0);
        t->members_changed = true;
    }
    for (ssize_t i = 0; i < n; i++) {
        struct member *m = members_find(&t->members, traffic[i].pid);
        if (!m || !m->was_seen)
            continue;
        struct row *own = &m->process.own;
        uint64_t before = row_u64(own, process_socket_sent_bytes) +
                          row_u64(own, process_socket_received_bytes);
        uint64_t now = row_hold_u64(own, process_socket_sent_bytes, traffic[i].sent_bytes) +
                       row_hold_u64(own, process_socket_received_bytes, traffic[i].received_bytes);
        t->members_changed |= now != before;
    }
    for (size_t i = 0; !are_all_known && i < t->members.count; i++)
        row_bound(&t->members.order[i]->process.own, PROCESS_SOCKET_BITS);
}

void process_ends_after_walk(const struct process_ends *l, struct tracked *t, bool has_outside)
{
    uint64_t live = 0;
    ends_read_traffic(l, t, has_outside);
    for (size_t i = 0; l->source && i < t->members.count; i++) {
        const struct member *m = t->members.order[i];
        live += m->was_seen && !m->gone && !m->process.has_ended;
    }
    if (l->source)
        ledger_put_recorded(&t->whole->ledger, l->ended_before + live);
}

/* What is left and has not ended; in the kernel's list, at the end. */
static void ends_count_pid(void *arg, pid_t pid)
{
    uint64_t *count = arg;
    *count += pid != 0;
}

/* Records that the programs have counted, and that are still being written. */
static bool ends_are_unread(const struct process_ends *l, const struct task_totals *totals)
{
    return l->records + totals->lost < totals->tasks + totals->processes;
}

/* Tasks that must have ended: those that have and, where no process is left, all that were born.
 * The first one was put in. */
static uint64_t ends_expected(const struct job_cgroup *j, const struct task_totals *totals,
                              bool none_lives)
{
    uint64_t all = none_lives && !j->has_outside ? totals->born + 1 : 0;
    return max_u64(totals->tasks, all);
}

static bool ends_count_live(const struct job_cgroup *j, uint64_t *ret)
{
    *ret = 0;
    return own_cgroup_each_pid(&j->own, ends_count_pid, ret) == 0;
}

/* A process that was just reaped makes its last switch some microseconds later. */
static bool ends_are_awaited(const struct process_ends *l, const struct job_cgroup *j)
{
    struct task_totals totals = task_ends_totals(l->source);
    uint64_t live;
    if (ends_are_unread(l, &totals))
        return true;
    if (totals.tasks < ends_expected(j, &totals, true) && ends_count_live(j, &live) && !live)
        return true;
    for (size_t i = 0; i < l->pending_count && !totals.lost; i++)
        if (!l->pending[i].is_sent && !l->pending[i].has_ended &&
            (l->pending[i].seen || l->pending[i].has_identity))
            return true;
    return false;
}

/* True when it has waited. */
static bool ends_await(struct process_ends *l, struct tracked *t, const struct job_cgroup *j)
{
    enum { STEP_US = 500 };
    bool has_waited = false;
    uint64_t until_ns = clock_mono(NULL) +
                        (j->has_outside ? LAST_RECORDS_WITH_OUTSIDE_NS : LAST_RECORDS_NS);
    task_ends_read(l->source, ends_take, t);
    while (ends_are_awaited(l, j) && clock_mono(NULL) < until_ns) {
        usleep(STEP_US);
        task_ends_read(l->source, ends_take, t);
        has_waited = true;
    }
    return has_waited;
}

static void ends_send_folds(struct process_ends *l, struct tracked *t)
{
    for (size_t i = 0; i < l->fold_count; i++) {
        struct folded_end *f = &l->folds[i];
        struct process_end e = {
            .process = &f->process,
            .how = LEFT_UNSEEN,
            .has_status = !f->end.unknown,
            .end = f->end,
            .elapsed_ns = f->end_ns,
            .is_recorded = true,
            .threads = f->threads,
            .count = f->count,
        };
        row_put_u64(&f->process.own, process_wall_seconds, left_u64(f->end_ns, f->begin_ns));
        events_add_end(&t->events, &e, t->options->processes != TOLL_PROCESSES_NONE);
    }
    if (l->folded)
        tracked_note(
            t,
            "%llu of %llu processes, which used less than 0.1 s of CPU time each and came after "
            "the first %d, are grouped into %zu line%s by program, parent and exit status",
            (unsigned long long)l->folded, (unsigned long long)l->ended, LINES_AT_MOST,
            l->fold_count, l->fold_count == 1 ? "" : "s");
}

/* Whether what was born has ended, and what has ended was read: true when no task is missing. */
static bool ends_are_complete(const struct process_ends *l, struct tracked *t,
                              const struct task_totals *totals, uint64_t expected)
{
    uint64_t recorded = totals->lost ? totals->tasks : l->tasks;
    if (totals->lost)
        tracked_note(t,
                     "the kernel dropped %llu record%s of ended tasks; the list of processes is "
                     "incomplete and covers %.2f s of %.2f s of CPU time",
                     (unsigned long long)totals->lost, totals->lost == 1 ? "" : "s",
                     (double)l->line_cpu_ns / NS_PER_SECOND,
                     (double)totals->cpu_ns / NS_PER_SECOND);
    if (totals->uncounted)
        tracked_note(
            t, "the kernel had no room to count the threads or network bytes of some processes; "
               "their figures are lower bounds");
    if (totals->tasks >= expected && !ends_are_unread(l, totals))
        return true;
    tracked_note(
        t,
        "the ends of %llu of %llu tasks were recorded; the others left the cgroup of the command "
        "or came too late; figures of processes are lower bounds",
        (unsigned long long)recorded, (unsigned long long)expected);
    return false;
}

/* Both counted the same tasks and agreed to the microsecond wherever this was measured. A larger
 * difference means that one of them has missed something. */
static void ends_reconcile(struct process_ends *l, struct tracked *t, const struct job_cgroup *j,
                           const struct task_totals *totals)
{
    uint64_t counted = j->cpu.cpu_ns, error = max_u64(counted / 1000, 2 * NS_PER_MS);
    bool is_short = counted > totals->cpu_ns + error || totals->cpu_ns > counted + error;
    if (is_short)
        tracked_note(
            t,
            "the kernel's records of ended tasks show %.3f s of CPU time, but the cgroup of the "
            "command %.3f s; figures of single processes are lower bounds",
            (double)totals->cpu_ns / NS_PER_SECOND, (double)counted / NS_PER_SECOND);
    l->is_short |= is_short;
}

void process_ends_finish(struct process_ends *l, struct tracked *t, struct job_cgroup *j)
{
    if (!l->source || l->is_finished)
        return;
    l->is_finished = true;
    if (ends_await(l, t, j))
        job_cgroup_read_cpu(j); /* the same tasks as the records */
    ends_send_complete(l, t, true);
    ends_send_folds(l, t);
    ends_read_traffic(l, t, j->has_outside);
    uint64_t live;
    bool is_known = ends_count_live(j, &live);
    struct task_totals totals = task_ends_totals(l->source);
    uint64_t ended = l->has_processes ? totals.processes : l->ended;
    ledger_put_recorded(&t->whole->ledger, ended + live);
    uint64_t expected = ends_expected(j, &totals, is_known && !live);
    l->is_short = !ends_are_complete(l, t, &totals, expected);
    bool are_all_counted = totals.tasks >= expected;
    if (is_known && !live && j->has_cpu)
        ends_reconcile(l, t, j, &totals);
    if (!are_all_counted) { /* what such a task used, the cgroup may not have counted either */
        j->has_outside = true;
        return;
    }
    if (l->has_traffic)
        l->exact |= PROCESS_SOCKET_BITS; /* kept beside the records, also of what lives on */
    if (is_known && (l->has_processes || !(totals.lost || l->is_short)))
        l->exact |= M(processes_started_count);
    if (!is_known || live || totals.lost || l->is_short)
        return;
    l->exact |= recorded_counters & ~(M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds));
    if (!l->has_io)
        l->exact &= ~PROCESS_IO_BITS;
    if (l->peak_bytes)
        l->exact |= M(memory_peak_bytes);
}

void process_ends_count(const struct process_ends *l, struct target *g)
{
    if (!l->source || !g->is_launched)
        return;
    struct row counted = l->sum;
    counted.present &= l->exact;
    if (l->exact & M(memory_peak_bytes))
        row_put_u64(&counted, process_memory_peak_bytes, l->peak_bytes);
    if (l->has_traffic) {
        struct task_totals totals = task_ends_totals(l->source);
        ends_put_traffic(&counted, totals.sent_bytes, totals.received_bytes);
    }
    ledger_raise(&g->ledger, &counted, l->is_finished, g->parts);
}

/* ==== Life ==================================================================================== */

void process_ends_open(struct process_ends *l, struct tracked *t, const struct job_cgroup *j)
{
    *l = (struct process_ends){0};
    if (!t->options->exact || t->options->no_children)
        return;
    row_init(&l->sum, ENTITY_PROCESS);
    if (j->own.dir < 0) /* a cgroup would not help without these rights */
        l->failure = geteuid() ? -EACCES : -ENODEV;
    else
        l->failure = task_ends_open(&l->source, j->own.dir, t->options->network);
    if (!l->source)
        return;
    l->has_processes = task_ends_has_processes(l->source);
    l->has_io = task_ends_has_io(l->source);
    l->has_traffic = task_ends_has_traffic(l->source);
    t->ends = l;
}

void process_ends_begin(struct process_ends *l, struct tracked *t, const struct wakeup *wakeup)
{
    if (l->source)
        wakeup_watch_edge(wakeup, task_ends_fd(l->source));
    if (l->source && t->options->network && !l->has_traffic)
        tracked_note(t,
                     "network bytes of single processes are unknown: this kernel does not show the "
                     "lengths of calls on sockets (Linux 6.3)");
    if (!l->failure)
        return;
    const char *why = strerror(-l->failure);
    switch (-l->failure) {
    case ENODEV: why = "the command has no separate cgroup of version 2"; break;
    case EPERM:
    case EACCES: why = "needs root, or CAP_BPF and CAP_PERFMON"; break;
    case ENOENT: why = "this kernel does not describe its types (BTF)"; break;
    case EOPNOTSUPP: why = "this kernel has other types than expected"; break;
    case EXDEV: why = "toll runs in a pid namespace"; break;
    }
    tracked_note(
        t,
        "--exact: ends of processes are not recorded: %s (see toll doctor exact); processes "
        "that live between two samples are not listed",
        why);
}

void process_ends_abandon(struct process_ends *l, struct tracked *t, int failure)
{
    bool is_asked_for = l->source || l->failure;
    process_ends_close(l);
    t->ends = NULL;
    l->failure = is_asked_for ? failure : 0;
}

bool process_ends_has_sent(const struct process_ends *l, const struct entity *e)
{
    const struct pending_end *p = l->source ? ends_find(l, e->pid) : NULL;
    return p && p->is_sent;
}

void process_ends_close(struct process_ends *l)
{
    task_ends_close(l->source);
    for (size_t i = 0; i < l->pending_count; i++)
        ends_forget_seen(&l->pending[i]);
    free(l->pending);
    map_done(&l->by_pid);
    free(l->folds);
    free(l->command);
    *l = (struct process_ends){0};
}
