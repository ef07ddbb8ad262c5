/* SPDX-License-Identifier: MIT */
#include "engine/walk.h"

#include "base/file.h"
#include "engine/outputs.h"
#include "parse/loadavg.h"

#include <fcntl.h>
#include <string.h>

/* A process that runs is read in full about once a second; one that sleeps cannot change its files,
 * but the kernel can take its memory away. */
#define REFRESH_NS       NS_PER_SECOND
#define REFRESH_STILL_NS (10 * NS_PER_SECOND)
#define REFRESH_YOUNG_NS (20 * NS_PER_MS)

void walk_init(struct toll_tracker *t, pid_t tracker_pid)
{
    members_init(&t->members, sizeof(struct process_source));
    t->discovery = (struct discovery){.tracker_pid = tracker_pid, .loadavg = -1};
    process_source_init(&t->discovery.tracker);
}

void walk_done(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->members.count; i++)
        process_source_done(source_of(t->members.order[i]), &t->reader);
    process_source_done(&t->discovery.tracker, &t->reader);
    if (t->discovery.loadavg >= 0)
        close(t->discovery.loadavg);
    map_done(&t->discovery.outsiders);
    map_done(&t->discovery.strangers);
    members_done(&t->members);
}

/* ---- Coming ---------------------------------------------------------------------------------- */

static struct member *add_member(struct toll_tracker *t, pid_t pid)
{
    struct member *m = members_add(&t->members, pid);
    if (!m) {
        outputs_note(t, "no memory for another process: what it uses is seen when it is reaped");
        return NULL;
    }
    process_source_init(source_of(m));
    return m;
}

int walk_begin(struct toll_tracker *t, pid_t main)
{
    struct member *m = add_member(t, main);
    if (!m)
        return -ENOMEM;
    m->is_main = true;
    m->process.splits_io = true;
    return 0;
}

static bool is_member(const struct toll_tracker *t, pid_t pid)
{
    return members_find(&t->members, pid) != NULL;
}

static void note_stranger(void *arg, pid_t pid)
{
    struct toll_tracker *t = arg;
    map_put(&t->discovery.strangers, (uint32_t)pid, 1);
}

void walk_note_strangers(struct toll_tracker *t)
{
    process_children(&t->reader, &t->discovery.tracker, t->discovery.tracker_pid, note_stranger, t);
}

bool walk_is_stranger(const struct toll_tracker *t, pid_t pid)
{
    uint32_t known;
    return map_get(&t->discovery.strangers, (uint32_t)pid, &known);
}

struct child_search {
    const struct toll_tracker *t;
    bool found;
};

static void look_for_child(void *arg, pid_t pid)
{
    struct child_search *search = arg;
    search->found |= !walk_is_stranger(search->t, pid);
}

bool walk_has_children(struct toll_tracker *t)
{
    struct child_search search = {.t = t};
    process_children(&t->reader, &t->discovery.tracker, t->discovery.tracker_pid, look_for_child,
                     &search);
    return search.found;
}

/* Members are added at the end and are visited in this same walk. */
static void meet(void *arg, pid_t pid)
{
    struct toll_tracker *t = arg;
    if (!is_member(t, pid) && !walk_is_stranger(t, pid))
        add_member(t, pid);
}

/* A parent that was not looked at yet may be anybody of the machine. */
static bool is_family(const struct toll_tracker *t, const struct process *p)
{
    const struct member *parent = members_find(&t->members, p->entity.parent);
    return p->entity.parent == t->discovery.tracker_pid || (parent && parent->was_seen);
}

/* Seen for the first time: all it used so far counts, it was born after the run began. */
static void welcome(struct toll_tracker *t, struct member *m, uint64_t now_ns)
{
    m->was_seen = true;
    m->process.first_seen_ns = now_ns;
    t->ledger.started++;
    m->inherited_base_ns = row_u64(&m->process.inherited, process_cpu_seconds);
}

/* ---- Leaving --------------------------------------------------------------------------------- */

static void forget(struct toll_tracker *t, struct member *m)
{
    m->gone = true;
    t->members_changed = true;
    process_source_done(source_of(m), &t->reader);
}

static void leave(struct toll_tracker *t, struct member *m, enum departure how,
                  const struct toll_end *end, uint64_t now_ns)
{
    forget(t, m);
    m->in_books = true;
    if (!m->was_seen)
        return;
    ledger_leave(&t->ledger, m, how == LEFT_LOST);
    if (t->options.processes == TOLL_PROCESSES_NONE)
        return;
    struct process_end e = {
        .process = &m->process,
        .how = how,
        .has_status = end != NULL,
        .end = end ? *end : (struct toll_end){0},
        .elapsed_ns = left_u64(now_ns, t->start_ns),
    };
    outputs_process_end(t, &e);
}

/* What a parent has inherited by now, to be compared with what its children had. Its figures in the
 * books stay those of its own turn in the walk: newer ones could count a child twice that was read
 * before and reaped since. */
static void judge(struct toll_tracker *t, struct member *parent, uint64_t now_ns)
{
    if (parent->judged_at_ns == now_ns)
        return;
    uint64_t before = parent->judged_at_ns ? parent->inherited_now_ns : parent->inherited_base_ns;
    parent->judged_at_ns = now_ns;
    struct process now = parent->process;
    struct process_source *s = source_of(parent);
    if (process_read_stat(&t->reader, s, &now, DEPTH_STILL) < 0 || now.has_ended)
        parent->inherited_now_ns = PARENT_HAS_ENDED;
    else
        parent->inherited_now_ns = row_u64(&now.inherited, process_cpu_seconds);
    parent->inherited_grown_ns = left_u64(parent->inherited_now_ns, before);
    if (process_read_status(&t->reader, s, &now, DEPTH_REFRESH) == 0)
        parent->process.ignores_sigchld = now.ignores_sigchld;
}

static bool was_lost(struct toll_tracker *t, const struct member *m, uint64_t now_ns)
{
    struct member *parent = members_find(&t->members, m->process.entity.parent);
    if (!m->was_seen || !parent)
        return false;
    judge(t, parent, now_ns);
    bool lost = ledger_was_lost(parent, m, t->reader.ns_per_tick);
    bool told = parent->loss_told;
    parent->loss_told |= lost;
    if (lost && !told)
        outputs_note(t,
                     "process %d (%s) does not wait for its children: what they used is known "
                     "only as far as it was seen",
                     (int)parent->process.entity.pid, parent->process.entity.name);
    return lost;
}

/* After the walk, so that a parent is asked once for all its children that left. */
static void book_departures(struct toll_tracker *t, uint64_t now_ns)
{
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (m->gone && !m->in_books)
            leave(t, m, was_lost(t, m, now_ns) ? LEFT_LOST : LEFT_INSIDE, NULL, now_ns);
    }
    members_sweep(&t->members);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* How long a look holds: half the age of a young process, so that a short job is not known by its
 * first millisecond alone; then about a second, not the same for all, so that a large tree is not
 * looked at all at once. */
static uint64_t look_holds_ns(const struct process *p, uint64_t now_ns)
{
    uint64_t spread = (uint64_t)(unsigned)p->entity.pid * 2654435761U % 64 * (REFRESH_NS / 128);
    uint64_t grown = REFRESH_NS - REFRESH_NS / 4 + spread;
    return min_u64(grown, max_u64((now_ns - p->first_seen_ns) / 2, REFRESH_YOUNG_NS));
}

/* What to read of a process, or -1 for nothing. */
static int depth_for(const struct process *p, const struct process_source *s, bool moved,
                     uint64_t now_ns)
{
    if (!p->state)
        return DEPTH_REFRESH;
    bool due = now_ns - p->looked_at_ns >= look_holds_ns(p, now_ns);
    if ((due && s->has_run) || now_ns - p->refreshed_ns >= REFRESH_STILL_NS)
        return DEPTH_REFRESH;
    return moved ? DEPTH_CHANGE : due ? DEPTH_STILL : -1;
}

static void remember_look(struct process *p, int depth, uint64_t now_ns)
{
    if (depth == DEPTH_CHANGE)
        return;
    p->looked_at_ns = now_ns;
    if (depth == DEPTH_REFRESH)
        p->refreshed_ns = now_ns;
}

/* Children of every thread; with many threads that is dear, so it is spaced out by its cost. */
static void ask_for_children(struct toll_tracker *t, struct member *m, uint64_t now_ns)
{
    struct process_source *s = source_of(m);
    if (t->reader.no_children || m->process.has_ended || now_ns < s->children_after_ns)
        return;
    uint64_t began = s->threads > 1 ? clock_mono(t->scripted) : 0;
    process_children(&t->reader, s, m->process.entity.pid, meet, t);
    if (s->threads > 1)
        s->children_after_ns = now_ns + 100 * left_u64(clock_mono(t->scripted), began);
}

static void look_at(struct toll_tracker *t, struct member *m, bool find_children, uint64_t now_ns)
{
    struct process *p = &m->process;
    int moved = process_probe(&t->reader, source_of(m), p);
    int depth = depth_for(p, source_of(m), moved > 0, now_ns);
    if (moved == 0 && depth < 0)
        return;
    t->slow.outdated |= moved != 0;
    t->members_changed = true;
    int r = moved < 0 ? moved : process_visit(&t->reader, source_of(m), p, depth);
    if (r == -ESRCH) {
        forget(t, m);
        if (moved >= 0 && m->was_seen)
            meet(t, p->entity.pid); /* the pid may be in use again */
        return;
    }
    if (r < 0 && m->was_seen)
        return; /* it keeps its last figures */
    if (r < 0) {
        forget(t, m); /* it will be met again */
        return;
    }
    if (!m->was_seen) {
        if (!m->is_main && !is_family(t, p)) {
            forget(t, m);
            if (t->reader.no_children)
                map_put(&t->discovery.outsiders, (uint32_t)p->entity.pid, 1);
            return;
        }
        welcome(t, m, now_ns);
    }
    remember_look(p, depth, now_ns);
    if (find_children && depth != DEPTH_STILL)
        ask_for_children(t, m, now_ns);
}

/* ---- Finding new ones ------------------------------------------------------------------------ */

/* No process was made on this machine since the last walk: then there is nobody to find. */
static bool pids_moved(struct toll_tracker *t)
{
    char text[128];
    uint64_t last_pid;
    if (t->discovery.loadavg < 0 && t->reader.cache.limit)
        t->discovery.loadavg = openat(t->root.proc, "loadavg", O_RDONLY | O_CLOEXEC);
    if (t->discovery.loadavg < 0)
        return true;
    ssize_t n = file_reread(t->discovery.loadavg, text, sizeof text);
    if (n <= 0 || parse_loadavg_last_pid(scan_text(text, (size_t)n), &last_pid) < 0)
        return true;
    bool moved = last_pid != t->discovery.last_pid;
    t->discovery.last_pid = last_pid;
    return moved;
}

/* Its parent alone is asked for: most processes of a machine have nothing to do with the job. */
static void meet_unknown(void *arg, pid_t pid)
{
    struct toll_tracker *t = arg;
    uint32_t known;
    if (pid == t->discovery.tracker_pid || is_member(t, pid) ||
        map_get(&t->discovery.outsiders, (uint32_t)pid, &known))
        return;
    pid_t parent = process_parent(&t->reader, pid);
    if (parent == t->discovery.tracker_pid || is_member(t, parent))
        meet(t, pid);
    else if (parent >= 0)
        map_put(&t->discovery.outsiders, (uint32_t)pid, 1);
}

/* For kernels that list no children: look at every process of the machine that is not known yet.
 * A child may stand before its parent, so those that were turned away are asked again as long as
 * somebody new was found. */
static void scan_machine(struct toll_tracker *t, uint64_t now_ns)
{
    size_t before;
    do {
        before = t->members.count;
        process_scan(&t->reader, meet_unknown, t);
        for (size_t i = before; i < t->members.count; i++)
            look_at(t, t->members.order[i], false, now_ns);
        book_departures(t, now_ns);
        if (t->members.count > before)
            map_clear(&t->discovery.outsiders);
    } while (t->members.count > before);
}

void walk(struct toll_tracker *t, uint64_t now_ns)
{
    struct discovery *d = &t->discovery;
    bool all = now_ns >= d->all_after_ns || t->frame.last;
    if (all)
        d->all_after_ns = now_ns + REFRESH_NS;
    bool find_children = !t->run.no_children && (pids_moved(t) || all);
    bool by_lists = find_children && !t->reader.no_children;
    if (by_lists)
        process_children(&t->reader, &d->tracker, d->tracker_pid, meet, t);
    for (size_t i = 0; i < t->members.count; i++)
        if (!t->members.order[i]->gone)
            look_at(t, t->members.order[i], by_lists, now_ns);
    book_departures(t, now_ns);
    if (find_children && !by_lists) {
        if (all)
            map_clear(&d->outsiders);
        scan_machine(t, now_ns);
    }
}

/* ---- Those the tracker reaps ----------------------------------------------------------------- */

struct member *walk_last_look(struct toll_tracker *t, pid_t pid, uint64_t now_ns)
{
    struct member *m = members_find(&t->members, pid);
    if (!m && !t->run.no_children)
        m = add_member(t, pid);
    if (!m)
        return NULL;
    process_probe(&t->reader, source_of(m), &m->process);
    if (process_visit(&t->reader, source_of(m), &m->process, DEPTH_REFRESH) == 0 && !m->was_seen)
        welcome(t, m, now_ns);
    /* Of the other counters the end shows only what the main thread did. */
    m->process.fresh &= t->ledger.folds[FOLD_CONSERVED];
    return m;
}

void walk_reaped(struct toll_tracker *t, struct member *m, const struct toll_end *end,
                 uint64_t now_ns)
{
    leave(t, m, LEFT_REAPED, end, now_ns);
}
