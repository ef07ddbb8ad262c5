/* SPDX-License-Identifier: MIT */
#include "engine/target/walk.h"

#include "account/members.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "engine/target/process_ends.h"
#include "engine/target/threads.h"
#include "engine/target/tracked.h"
#include "source/machine/machine.h"

#include <fcntl.h>
#include <string.h>

/* ==== Changes ================================================================================= */

void changes_open(struct changes *c, int cgroup)
{
    c->was_tried = true;
    if (bpf_members_open(&c->source, cgroup) < 0)
        c->source = NULL;
}

void changes_close(struct changes *c)
{
    bpf_members_close(c->source);
    free(c->before);
    free(c->moved);
    *c = (struct changes){.was_tried = true};
}

/* True: the same tasks as at the last reading are there, they are the members, and `moved` has
 * those that may have run since. */
static bool changes_read(struct changes *c)
{
    const struct member_task *now;
    ssize_t n = c->source ? bpf_members_read(c->source, &now) : -1;
    c->moved_count = 0;
    if (n < 0) {
        c->is_settled = false;
        return false;
    }
    size_t count = (size_t)n;
    bool is_same = count == c->before_count;
    for (size_t i = 0; i < count && is_same; i++) {
        const struct member_task *a = &c->before[i], *b = &now[i];
        is_same = a->pid == b->pid && a->thread == b->thread;
        bool has_run = b->is_on_cpu || a->cpu_ns != b->cpu_ns || a->ended_ns != b->ended_ns ||
                       a->rss_pages != b->rss_pages;
        bool is_noted = c->moved_count && c->moved[c->moved_count - 1] == b->pid;
        if (!has_run || is_noted)
            continue;
        if (!ARRAY_RESERVE(c->moved, c->moved_capacity, c->moved_count + 1))
            return false;
        c->moved[c->moved_count++] = b->pid;
    }
    if (!is_same)
        c->is_settled = false;
    if (!ARRAY_RESERVE(c->before, c->before_capacity, count))
        return false;
    memcpy(c->before, now, count * sizeof *now);
    c->before_count = count;
    return c->is_settled;
}

/* All members were looked at: whether they are the processes of the last reading. */
static void changes_settle(struct changes *c, const struct members *members)
{
    size_t processes = 0, live = 0;
    if (!c->source || c->is_settled)
        return;
    for (size_t i = 0; i < c->before_count; i++) {
        if (c->before[i].pid != c->before[i].thread)
            continue;
        const struct member *m = members_find(members, c->before[i].pid);
        if (!m || !m->was_seen)
            return;
        processes++;
    }
    for (size_t i = 0; i < members->count; i++)
        live += !members->order[i]->gone && !members->order[i]->process.has_ended;
    c->is_settled = processes == live;
}

void tracked_note(struct tracked *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    events_add_note(&t->events, left_u64(clock_mono(t->scripted), t->start_ns), format, args);
    va_end(args);
}

/* ==== Departure =============================================================================== */

void departure_forget(struct tracked *t, struct member *m)
{
    m->gone = true;
    t->members_changed = t->any_departed = true;
    process_source_done(source_of(m), &t->reader);
}

static void departure_queue(struct tracked *t, struct member *m, enum departure how,
                            const struct toll_end *end, uint64_t now_ns)
{
    bool is_recorded = t->options->processes != TOLL_PROCESSES_NONE;
    if (!m->targets || m->end_is_sent || !(m->was_seen || is_recorded))
        return;
    m->process.entity.targets = m->targets;
    membership_put_wall(t, m, left_u64(now_ns, t->start_ns));
    struct process_end e = {
        .process = &m->process,
        .how = how,
        .has_status = end != NULL,
        .end = end ? *end : (struct toll_end){0},
        .elapsed_ns = left_u64(now_ns, t->start_ns),
    };
    if (!t->ends || !process_ends_keep(t->ends, t, &e))
        events_add_end(&t->events, &e, is_recorded);
}

/* ---- Where its figures go -------------------------------------------------------------------- */

/* Whether a member of the target takes over what it used. A parent that left in the same walk
 * handed it on to its own parent, if it had it: its figures are of its last look, when this child
 * was still there. */
static bool is_inherited(const struct tracked *t, const struct member *m, uint64_t bit)
{
    for (unsigned hops = 0; hops < 1000; hops++) {
        const struct member *parent = members_find_any(&t->members, m->process.entity.parent);
        /* One that was a member until now may have taken it over before it parted. */
        if (!parent || parent == m || !((parent->targets | parent->parted) & bit))
            return false;
        if (!parent->gone || parent->process.has_ended)
            return true;
        m = parent;
    }
    return false;
}

/* Counters of a process that could not be read until now come to the targets: much of them may be
 * of before, or not theirs. */
static void leave_out(struct tracked *t, const struct member *m, uint64_t targets, uint64_t metrics)
{
    for (size_t i = 0; metrics && i < book_count(t); i++)
        if (targets & t->targets[i].bit)
            ledger_leave_out(&t->targets[i].ledger, m, metrics);
}

/* What the member has inherited since the look before the last. */
static void leave_out_inherited(struct tracked *t, struct member *heir, uint64_t targets,
                                uint64_t metrics)
{
    FOR_EACH_BIT(id, metrics)
    {
        uint64_t growth = left_u64(member_inherited_io(heir, id),
                                   heir->io_before[id - process_storage_read_bytes]);
        for (size_t i = 0; i < book_count(t); i++)
            if (targets & t->targets[i].bit)
                ledger_leave_out_growth(&t->targets[i].ledger, id, growth);
    }
}

/* A process has left with counters that were never read. Of I/O it is known which member gets them,
 * if its parent lives: with its last look, or with its next one. */
static void leave_out_left(struct tracked *t, const struct member *m, uint64_t targets,
                           uint64_t metrics)
{
    struct member *heir = members_find(&t->members, m->process.entity.parent);
    uint64_t of_heir = heir && heir->was_seen ? metrics & PROCESS_IO_BITS : 0;
    if (!targets || !metrics)
        return;
    if (of_heir) {
        leave_out_inherited(t, heir, targets, of_heir & ~heir->io_left_out);
        heir->io_left_out |= of_heir;
    }
    leave_out(t, m, targets, metrics & ~of_heir);
}

/* A process that is not of a target, and whose parent is: the parent inherits what is not the
 * target's. */
static void book_foreign(struct tracked *t, const struct member *m)
{
    const struct member *parent = members_find(&t->members, m->process.entity.parent);
    if (!parent)
        return;
    uint64_t rules = t->discovery.rule_bits;
    if (rules && t->target_count > 1)
        rules |= t->whole->bit;
    uint64_t bits = parent->targets & rules & ~m->targets;
    struct member child = *m;
    membership_round_up(t, &child.process);
    leave_out_left(t, m, bits, ledger_unknown_base(&t->whole->ledger, &m->process));
    for (size_t i = 0; bits && i < book_count(t); i++)
        if (t->targets[i].bit & bits)
            ledger_foreign(&t->targets[i].ledger, &child);
}

static void departure_leave(struct tracked *t, struct member *m, enum departure how,
                            const struct toll_end *end, uint64_t now_ns)
{
    departure_forget(t, m);
    m->in_books = true;
    if (!m->was_seen)
        return;
    uint64_t inherited = 0;
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        if (!(m->targets & g->bit))
            continue;
        bool lost = how == LEFT_LOST || (!g->is_launched && !is_inherited(t, m, g->bit));
        ledger_leave(&g->ledger, m, lost);
        inherited |= lost ? 0 : g->bit;
    }
    leave_out_left(t, m, inherited, m->base_unknown | m->io_left_out);
    if (how == LEFT_INSIDE)
        book_foreign(t, m);
    departure_queue(t, m, how, end, now_ns);
}

/* ---- Losses ---------------------------------------------------------------------------------- */

/* What an ancestor has inherited by now. Its figures in the books stay those of its own turn in the
 * walk: newer ones could count a child twice that was read before and reaped since. */
static bool read_inherited(void *context, struct member *m, struct handed_on *ret,
                           bool *ret_has_ended)
{
    struct tracked *t = context;
    struct process now = m->process;
    struct process_source *s = source_of(m);
    if (process_read_stat(&t->reader, s, &now, DEPTH_STILL) < 0)
        return false;
    *ret_has_ended = now.has_ended;
    *ret = (struct handed_on){
        .faults = inherited_u64(&now.inherited, process_faults_minor_count),
        .cpu_ns = inherited_u64(&now.inherited, process_cpu_seconds),
    };
    if (process_read_status(&t->reader, s, &now, DEPTH_REFRESH) == 0)
        m->process.ignores_sigchld = now.ignores_sigchld;
    return true;
}

static void note_loss(struct tracked *t, const struct member *m, struct member *ancestor)
{
    const struct member *parent = members_find_any(&t->members, m->process.entity.parent);
    if (ancestor->loss_noted || t->ends) /* the kernel's records lack none */
        return;
    ancestor->loss_noted = true;
    if (parent && parent->process.is_namespace_init &&
        (parent != ancestor || ancestor->ended_meanwhile))
        tracked_note(t,
                     "process %d (%s), the init of a pid namespace, ended before its children; "
                     "their usage is a lower bound",
                     (int)parent->process.entity.pid, parent->process.entity.name);
    else if (parent == ancestor)
        tracked_note(t,
                     "process %d (%s) does not wait for its children; their usage is a lower bound",
                     (int)ancestor->process.entity.pid, ancestor->process.entity.name);
    else
        tracked_note(t,
                     "descendants of process %d (%s) ended without being waited for; their usage "
                     "is a lower bound",
                     (int)ancestor->process.entity.pid, ancestor->process.entity.name);
}

static enum loss departure_judge(struct tracked *t, struct member *m)
{
    struct losses l = {
        .members = &t->members,
        .tracker = t->discovery.tracker_pid,
        .has_all_orphans = is_launched(t),
        .is_recorded = t->is_recorded,
        .ns_per_tick = t->reader.ns_per_tick,
        .round = t->discovery.bookings,
        .read = read_inherited,
        .context = t,
    };
    struct member *ancestor, *parent = members_find(&t->members, m->process.entity.parent);
    if (parent)
        parent->vanished_ns += row_u64(&m->process.own, process_cpu_seconds) +
                               inherited_u64(&m->process.inherited, process_cpu_seconds);
    enum loss loss = losses_judge(&l, m, &ancestor);
    if (loss != LOSS_NOT_SEEN)
        note_loss(t, m, ancestor);
    return loss;
}

/* Ancestors are still there, marked as gone, while their descendants are booked. In a large tree
 * that sleeps, looking for some that have left would be a tenth of the work. */
void departure_book(struct tracked *t, uint64_t now_ns)
{
    t->discovery.bookings++;
    if (!t->any_departed)
        return;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (!m->gone || m->in_books)
            continue;
        /* Whether the ancestor has one that is being reaped yet, or had it when its baseline was
         * read again, is not known: that proves nothing. */
        bool can_judge = m->was_seen && !m->process.is_being_reaped &&
                         t->discovery.bookings != t->discovery.first_booking;
        enum loss loss = can_judge ? departure_judge(t, m) : LOSS_NOT_SEEN;
        for (size_t k = 0; loss == LOSS_OF_SOME && k < book_count(t); k++)
            if (m->targets & t->targets[k].bit)
                ledger_note_loss(&t->targets[k].ledger);
        departure_leave(t, m, loss == LOSS_OF_THIS ? LEFT_LOST : LEFT_INSIDE, NULL, now_ns);
    }
    members_sweep(&t->members);
    t->any_departed = false;
}

void departure_reaped(struct tracked *t, struct member *m, const struct toll_end *end,
                      uint64_t now_ns)
{
    departure_leave(t, m, LEFT_REAPED, end, now_ns);
}

/* ==== Walk ==================================================================================== */

/* A process that runs is read in full about once a second; one that sleeps cannot change its files,
 * but the kernel can take its memory away. */
#define REFRESH_NS       NS_PER_SECOND
#define REFRESH_STILL_NS (10 * NS_PER_SECOND)
#define REFRESH_YOUNG_NS (20 * NS_PER_MS)

/* stat and io of processes that run are read four times a second, twice when there are many; a
 * little less, so that samples at 250 ms have all. */
enum { FEW_MEMBERS = 32 };
#define WORK_NS         (240 * NS_PER_MS)
#define WORK_OF_MANY_NS (480 * NS_PER_MS)

uint64_t walk_work_holds_ns(const struct tracked *t)
{
    return t->members.count > FEW_MEMBERS ? WORK_OF_MANY_NS : WORK_NS;
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* Whether the CPU clock and statm are enough for now. Not of a process that may have reaped
 * children, whose figures are missing until its stat is read; nor where stat decides whose memory
 * or whose member it is. */
static bool walk_can_be_brief(const struct tracked *t, const struct member *m, uint64_t now_ns)
{
    const struct process *p = &m->process;
    uint64_t holds_ns = min_u64(walk_work_holds_ns(t),
                                max_u64((now_ns - p->first_seen_ns) / 2, REFRESH_YOUNG_NS));
    return t->may_be_brief && m->was_seen && !t->discovery.rule_bits && t->reader.has_clock &&
           now_ns - p->worked_ns < holds_ns && !p->has_ended && !p->is_hidden && !p->of_kernel &&
           p->entity.pid != t->reader.own.pid && !m->had_children &&
           !inherited_u64(&p->inherited, process_faults_minor_count) &&
           (!p->before_exec || (m->memory_is_asked && !m->memory_id));
}

/* What to read of a process, or -1 for nothing. */
static int walk_depth(const struct tracked *t, const struct member *m,
                      const struct process_source *s, bool moved, uint64_t now_ns)
{
    const struct process *p = &m->process;
    if (!p->state)
        return DEPTH_REFRESH;
    /* A look holds for half the age of a young process, so that a short job is not known by its
     * first millisecond alone; then for about a second, not the same for all, so that a large tree
     * is not looked at all at once. */
    uint64_t spread = (uint64_t)(unsigned)p->entity.pid * 2654435761U % 64 * (REFRESH_NS / 128);
    uint64_t grown = REFRESH_NS - REFRESH_NS / 4 + spread;
    uint64_t holds_ns = min_u64(grown, max_u64((now_ns - p->first_seen_ns) / 2, REFRESH_YOUNG_NS));
    bool due = now_ns - p->looked_at_ns >= holds_ns;
    /* A refresh waits for the next sample that has all. */
    if (moved && walk_can_be_brief(t, m, now_ns))
        return DEPTH_BRIEF;
    if ((due && s->has_run) || now_ns - p->refreshed_ns >= REFRESH_STILL_NS)
        return DEPTH_REFRESH;
    /* What an attached process has used is lost with it: it is read as soon as it rests. */
    if (moved || (s->is_behind && (!t->may_be_brief || !is_launched(t))))
        return DEPTH_CHANGE;
    /* The clock of a process that has ended does not move when it is reaped: its stat shows it. */
    return due || p->has_ended ? DEPTH_STILL : -1;
}

/* Children of every thread; with many threads that is expensive, so it is spaced out by its cost.
 */
static void walk_ask_for_children(struct tracked *t, struct member *m, uint64_t now_ns)
{
    struct process_source *s = source_of(m);
    if (t->reader.no_children || m->process.has_ended || !s->may_have_children)
        return;
    if (now_ns < s->children_after_ns) {
        t->discovery.somebody_waits = true;
        return;
    }
    s->may_have_children = false;
    bool is_apart = s->threads > 1;
    uint64_t began = is_apart ? clock_mono(t->scripted) : 0;
    uint64_t before_ns = is_apart ? clock_thread_cpu() : 0;
    t->discovery.parent = m;
    process_children(&t->reader, s, m->process.entity.pid, membership_meet, t);
    if (!is_apart)
        return;
    s->children_after_ns = now_ns + 100 * left_u64(clock_mono(t->scripted), began);
    t->discovery.apart_ns += left_u64(clock_thread_cpu(), before_ns);
}

static void walk_turn_away(struct tracked *t, struct member *m)
{
    departure_forget(t, m);
    m->in_books = true;
    if (t->discovery.by_scan || t->reader.no_children)
        map_put(&t->discovery.outsiders, (uint32_t)m->process.entity.pid, 0);
}

/* A process that sleeps is read on a budget of its own: that makes samples no less frequent. */
static int walk_visit(struct tracked *t, struct member *m, int depth, bool moved)
{
    bool is_apart = m->was_seen && !moved;
    uint64_t before_ns = is_apart ? clock_thread_cpu() : 0;
    int r = process_visit(&t->reader, source_of(m), &m->process, depth);
    if (is_apart) {
        uint64_t cost_ns = left_u64(clock_thread_cpu(), before_ns);
        t->discovery.apart_ns += cost_ns;
        t->discovery.still_ns += cost_ns;
    }
    return r;
}

/* Whether sums over the members are the same with either. */
static bool process_adds_same(const struct process *a, const struct process *b)
{
    return memcmp(&a->own, &b->own, sizeof a->own) == 0 &&
           memcmp(&a->inherited, &b->inherited, sizeof a->inherited) == 0 &&
           a->denied == b->denied && a->has_ended == b->has_ended && a->is_hidden == b->is_hidden &&
           a->ignores_sigchld == b->ignores_sigchld;
}

/* Processes that sleep are read, too, on a budget: in a large tree that would be most of the work,
 * and samples would have to wait for it. */
static bool walk_may_read_still(const struct tracked *t, uint64_t now_ns)
{
    double allowed_ns = (double)left_u64(now_ns, t->start_ns) * t->budget * BUDGET_STILL;
    return t->is_recorded || t->is_probe || t->is_last ||
           (double)t->discovery.still_ns < allowed_ns;
}

static void walk_look_at(struct tracked *t, struct member *m, bool find_children, uint64_t now_ns)
{
    struct process *p = &m->process;
    struct discovery *d = &t->discovery;
    losses_before_look(m);
    /* Of a command all counts from its birth: nothing of it is ever left out. */
    for (unsigned i = 0; i < IO_COUNTERS && !is_launched(t); i++)
        m->io_before[i] = member_inherited_io(m, process_storage_read_bytes + i);
    if (p->has_ended && !m->stays_ended)
        m->stays_ended = t->members_changed = true;
    int moved = process_probe(&t->reader, source_of(m), p);
    if (moved == 0) /* to wait for a child is to run */
        m->io_left_out = 0;
    int depth = t->is_probe && moved > 0 ? DEPTH_REFRESH
                                         : walk_depth(t, m, source_of(m), moved > 0, now_ns);
    if (moved > 0)
        source_of(m)->may_have_children = true;
    bool has_worked = moved > 0 || (source_of(m)->is_behind && depth == DEPTH_CHANGE);
    if (moved == 0 && (depth < 0 || (!has_worked && !walk_may_read_still(t, now_ns)))) {
        t->is_behind |= source_of(m)->is_behind;
        if (find_children && m->was_seen) /* it may have made some after the last walk's look */
            walk_ask_for_children(t, m, now_ns);
        return;
    }
    t->has_run |= moved != 0;
    /* One that sleeps is looked at once a second, and has changed hardly ever. */
    bool is_still = moved == 0 && !has_worked && m->was_seen;
    struct process before;
    if (is_still)
        before = *p;
    t->members_changed |= !is_still;
    int r = moved < 0 ? moved : walk_visit(t, m, depth, has_worked);
    if (r < 0 && moved >= 0 && process_hide(&t->reader, source_of(m), p)) {
        t->members_changed = true;
        if (!d->hidden_noted)
            tracked_note(t,
                         "process %d is hidden from this user (hidepid option of /proc); memory, "
                         "threads and similar figures are lower bounds",
                         (int)p->entity.pid);
        d->hidden_noted = true;
        r = 0;
    }
    if (r == -ESRCH) {
        departure_forget(t, m);
        if (moved < 0 || !m->was_seen)
            return;
        /* Its pid may be in use again, by a child of the same parent. */
        d->parent = members_find(&t->members, p->entity.parent);
        if (d->parent || is_launched(t))
            membership_meet(t, p->entity.pid);
        return;
    }
    if (r < 0 && m->was_seen)
        return; /* it keeps its last figures */
    if (r < 0) {
        d->unread = r;
        departure_forget(t, m); /* it will be met again */
        return;
    }
    t->asks_memory |= m->memory_execs != p->execs || (p->before_exec && !m->memory_is_asked);
    bool is_new = !m->was_seen;
    uint64_t now_known = m->base_unknown & ~p->denied;
    leave_out(t, m, m->targets, now_known);
    m->base_unknown &= ~now_known;
    leave_out_inherited(t, m, m->targets, m->io_left_out);
    if (depth == DEPTH_CHANGE || depth == DEPTH_REFRESH) /* its io file was read */
        m->io_left_out = 0;
    if (is_new ? !membership_confirm(t, m) : !membership_review(t, m, depth == DEPTH_REFRESH)) {
        walk_turn_away(t, m);
        return;
    }
    if (is_new)
        membership_welcome(t, m, now_ns);
    /* The kernel keeps a high-water mark for life: one from before says nothing of this run. */
    m->seen_peak_bytes = max_u64(m->seen_peak_bytes, row_u64(&p->own, process_memory_rss_bytes));
    if (m->old_peak_bytes && row_u64(&p->own, process_memory_peak_bytes) <= m->old_peak_bytes)
        row_put_u64(&p->own, process_memory_peak_bytes, m->seen_peak_bytes);
    t->members_changed |= is_still && !process_adds_same(&before, p);
    if (source_of(m)->is_behind)
        t->is_behind = true;
    else if (depth >= DEPTH_BRIEF)
        p->worked_ns = now_ns;
    if (depth == DEPTH_STILL || depth == DEPTH_REFRESH)
        p->looked_at_ns = now_ns;
    if (depth == DEPTH_REFRESH)
        p->refreshed_ns = now_ns;
    if (find_children)
        walk_ask_for_children(t, m, now_ns);
}

/* The first look at a process is made once: its cost says nothing of samples to come. */
static void walk_look_timed(struct tracked *t, struct member *m, bool find_children,
                            uint64_t now_ns)
{
    bool is_first = !m->was_seen;
    uint64_t before_ns = is_first ? clock_thread_cpu() : 0, apart_ns = t->discovery.apart_ns;
    walk_look_at(t, m, find_children, now_ns);
    if (is_first)
        t->discovery.apart_ns = apart_ns + left_u64(clock_thread_cpu(), before_ns);
}

/* ---- Finding new ones ------------------------------------------------------------------------ */

#define UNSEEN_AT_MOST_NS (200 * NS_PER_MS)

/* False when no process was made on this machine since the last walk: there is none to find. */
static bool walk_pids_moved(struct tracked *t)
{
    char text[128];
    uint64_t last_pid;
    struct discovery *d = &t->discovery;
    if (d->loadavg < 0 && t->reader.cache.limit)
        d->loadavg = openat(t->root.proc, "loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t n = d->loadavg < 0 ? -1 : file_reread(d->loadavg, text, sizeof text);
    if (n <= 0 || parse_loadavg_last_pid(scan_text(text, (size_t)n), &last_pid) < 0) {
        d->last_pid = d->recent_pid = d->older_pid = 0;
        return true;
    }
    bool moved = last_pid != d->last_pid;
    /* A process may get its number some time before it can be seen. */
    if (d->walked_ns - d->recent_ns >= UNSEEN_AT_MOST_NS) {
        d->older_pid = d->recent_pid;
        d->recent_pid = d->last_pid;
        d->recent_ns = d->walked_ns;
    }
    d->last_pid = last_pid;
    return moved;
}

/* For what no list of children shows. Children may be listed before parents: rescan until nothing
 * new appears. */
static void walk_search(struct tracked *t, bool by_parent, bool again, uint64_t now_ns)
{
    size_t before;
    do {
        before = t->members.count;
        membership_scan(t, by_parent, again);
        for (size_t i = before; i < t->members.count; i++)
            if (!t->members.order[i]->gone)
                walk_look_timed(t, t->members.order[i], !by_parent, now_ns);
        departure_book(t, now_ns);
        again = true;
    } while (by_parent && t->members.count > before);
    if (!is_launched(t))
        members_sort(&t->members);
}

/* ---- Memory that several have together ------------------------------------------------------- */

/* A child made by vfork, by posix_spawn, or by clone with CLONE_VM has the memory of its parent
 * until it calls exec: the files of both show it, and it counts once. */

enum { SIBLINGS_AT_MOST = 64, SIBLINGS_COMPARED = 16 };

static bool can_share(const struct member *m)
{
    return !m->gone && m->was_seen && !m->process.has_ended;
}

/* Where the kernel does not compare. A plain fork has other page counts: pages of files are not
 * copied. */
static bool has_equal_figures(const struct process *a, const struct process *b)
{
    static const uint64_t compared = BIT(process_memory_virtual_bytes) |
                                     BIT(process_memory_rss_bytes);
    return a->start_stack == b->start_stack &&
           (a->own.present & b->own.present & compared) == compared &&
           row_u64(&a->own, process_memory_virtual_bytes) ==
               row_u64(&b->own, process_memory_virtual_bytes) &&
           row_u64(&a->own, process_memory_rss_bytes) == row_u64(&b->own, process_memory_rss_bytes);
}

/* Its parent may be another one by now, or never have been seen: those found next to it. */
static struct member *find_sibling_with_memory(struct tracked *t, const struct member *m, size_t at)
{
    unsigned compared = 0;
    for (size_t i = at > SIBLINGS_AT_MOST ? at - SIBLINGS_AT_MOST : 0; i < at; i++) {
        struct member *other = t->members.order[i];
        if (!can_share(other) || !other->process.before_exec || !m->process.start_stack ||
            other->process.start_stack != m->process.start_stack)
            continue;
        if (process_compare_memory(&t->reader, m->process.entity.pid, other->process.entity.pid) ==
            1)
            return other;
        if (++compared == SIBLINGS_COMPARED)
            break;
    }
    return NULL;
}

/* Reads its memory again, and keeps what else was read in its turn of the walk: a parent read after
 * its children would have inherited one that was reaped since, and count it twice. */
static int read_memory_again(struct tracked *t, struct member *m)
{
    struct process *p = &m->process;
    const struct process before = *p;
    int r = process_visit(&t->reader, source_of(m), p, DEPTH_STILL);
    p->fresh |= before.fresh;
    p->inherited = before.inherited;
    FOR_EACH_BIT(id, t->whole->ledger.folds[FOLD_CONSERVED] & before.own.present)
    row_put_u64(&p->own, id, row_u64(&before.own, id));
    return r;
}

/* The kernel does not compare: it never does here, or not at this moment, because the process is
 * calling exec. So it is asked again at every look. Figures that differ may be of two moments:
 * those of the child from before its exec, those of the parent from before it grew. */
static void ask_without_kernel(struct tracked *t, struct member *m, struct member *parent)
{
    bool is_same = has_equal_figures(&m->process, &parent->process);
    if (!is_same && read_memory_again(t, parent) == 0)
        is_same = read_memory_again(t, m) < 0 || /* it has no memory now */
                  (m->process.before_exec && has_equal_figures(&m->process, &parent->process));
    if (is_same)
        members_share_memory(&t->members, parent, m);
    else
        m->memory_id = m->memory_elsewhere = 0;
}

static void ask_whose_memory(struct tracked *t, struct member *m, size_t at)
{
    struct process *p = &m->process;
    struct member *parent = members_find(&t->members, p->entity.parent);
    if (parent && !can_share(parent))
        parent = NULL;
    int same = parent
                   ? process_compare_memory(&t->reader, p->entity.pid, parent->process.entity.pid)
                   : 0;
    if (same == -ENOSYS || same == -EPERM) {
        ask_without_kernel(t, m, parent);
        return;
    }
    struct member *other = same == 1 ? parent : find_sibling_with_memory(t, m, at);
    if (other) {
        members_share_memory(&t->members, other, m);
        m->memory_is_asked = true;
        return;
    }
    /* Its files were read before: it may have called exec since, or have ended. */
    int r = read_memory_again(t, m);
    if (r < 0 && parent)
        members_share_memory(&t->members, parent, m); /* it has none now */
    m->memory_is_asked = r == 0 && p->before_exec && same == 0;
}

/* Only a fork or an exec changes who shares: most walks have nothing to ask. */
static void find_shared_memory(struct tracked *t)
{
    bool found = false, is_open = false;
    if (!t->asks_memory)
        return;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (m->memory_execs != m->process.execs) {
            m->memory_execs = m->process.execs;
            m->memory_id = 0;
            m->memory_elsewhere = 0;
            m->memory_is_asked = false;
        }
        if (m->process.before_exec && !m->memory_is_asked && can_share(m)) {
            uint64_t before_ns = clock_thread_cpu();
            ask_whose_memory(t, m, i);
            t->discovery.apart_ns += left_u64(clock_thread_cpu(), before_ns);
        }
        found |= m->memory_id != 0;
        is_open |= m->process.before_exec && !m->memory_is_asked;
    }
    t->asks_memory = found || is_open;
    if (!found)
        return;
    t->members_changed = true;
    members_count_memory_once(&t->members);
}

/* ---- Those that have run -------------------------------------------------------------------- */

/* Between samples that have all. False: all have to be looked at. */
static bool walk_only_changed(struct tracked *t, uint64_t now_ns)
{
    struct changes *c = &t->changes;
    bool any_gone = false;
    if (!t->may_be_brief || t->is_last || !changes_read(c))
        return false;
    for (size_t i = 0; i < c->moved_count; i++) {
        struct member *m = members_find(&t->members, c->moved[i]);
        if (!m || m->gone)
            continue;
        walk_look_timed(t, m, false, now_ns);
        any_gone |= m->gone;
    }
    if (any_gone)
        departure_book(t, now_ns);
    return true;
}

/* ---- All of it ------------------------------------------------------------------------------- */

void walk(struct tracked *t, uint64_t now_ns)
{
    struct discovery *d = &t->discovery;
    if (walk_only_changed(t, now_ns))
        return;
    d->walked_ns = now_ns;
    t->is_behind = false;
    /* In the unit of a process's start. That counts the sleep of the machine, now_ns does not. */
    uint64_t began_ticks = 0, live_ns = t->root.live ? clock_since_boot() : 0;
    if (!is_launched(t) && live_ns)
        began_ticks = live_ns / t->reader.ns_per_tick;
    else if (!is_launched(t))
        began_ticks = d->start_ticks + left_u64(now_ns, t->start_ns) / t->reader.ns_per_tick;
    bool all = now_ns >= d->all_after_ns || t->is_last;
    if (all)
        d->all_after_ns = now_ns + REFRESH_NS;
    bool moved = walk_pids_moved(t) || d->somebody_waits;
    bool find = (d->tree_bits || d->rule_bits || d->by_scan) && (moved || all);
    d->somebody_waits = false;
    bool by_lists = find && !t->reader.no_children;
    if (by_lists && is_launched(t)) {
        d->parent = NULL;
        process_children(&t->reader, &d->tracker, d->tracker_pid, membership_meet, t);
    }
    for (size_t i = 0; i < t->members.count; i++)
        if (!t->members.order[i]->gone)
            walk_look_timed(t, t->members.order[i], by_lists, now_ns);
    departure_book(t, now_ns);
    if (find)
        walk_search(t, !by_lists, all, now_ns);
    find_shared_memory(t);
    changes_settle(&t->changes, &t->members);
    if (!is_launched(t))
        d->walked_ticks = began_ticks;
}

/* ---- Those the tracker reaps ----------------------------------------------------------------- */

struct member *walk_last_look(struct tracked *t, pid_t pid, uint64_t now_ns)
{
    struct member *m = members_find(&t->members, pid);
    if (!m && t->discovery.tree_bits) {
        t->discovery.parent = NULL;
        membership_meet(t, pid);
        m = members_find(&t->members, pid);
    }
    if (!m)
        return NULL;
    process_probe(&t->reader, source_of(m), &m->process);
    bool is_there = process_visit(&t->reader, source_of(m), &m->process, DEPTH_REFRESH) == 0 ||
                    process_hide(&t->reader, source_of(m), &m->process);
    if (is_there && !m->was_seen)
        membership_welcome(t, m, now_ns);
    if (t->threads)
        threads_last_look(t->threads, t, m);
    /* Of the other counters the end shows only what the main thread did. */
    m->process.fresh &= t->whole->ledger.folds[FOLD_CONSERVED];
    return m;
}

/* ---- Those that somebody else reaps ---------------------------------------------------------- */

void walk_end(struct tracked *t, pid_t pid, uint64_t now_ns)
{
    struct member *m = members_find(&t->members, pid);
    if (!m)
        return;
    t->members_changed = true;
    if (process_visit(&t->reader, source_of(m), &m->process, DEPTH_REFRESH) == 0 &&
        m->process.has_ended)
        return;
    departure_forget(t, m);
    departure_book(t, now_ns);
}
