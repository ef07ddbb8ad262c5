/* SPDX-License-Identifier: MIT */
#include "engine/target/walk.h"

#include "engine/target/gpus.h"
#include "source/cgroup/cgroup.h"

#include <string.h>
#include <sys/wait.h>

/* ==== Rules =================================================================================== */

uint64_t rules_that_cost(const struct tracked *t)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < t->target_count; i++)
        if (t->targets[i].kind == TOLL_TARGET_USER)
            bits |= t->targets[i].bit;
    return bits;
}

static bool rules_belongs(const struct target *g, const struct process *p, uid_t user)
{
    uint32_t known;
    switch (g->kind) {
    case TOLL_TARGET_GROUP: return p->group == g->id;
    case TOLL_TARGET_SESSION: return p->session == g->id;
    case TOLL_TARGET_USER: return user == g->user;
    case TOLL_TARGET_CGROUP: return map_get(&g->in_cgroup, (uint32_t)p->entity.pid, &known);
    case TOLL_TARGET_PROCESS:
    case TOLL_TARGET_MATCH: break;
    }
    return false;
}

uint64_t rules_of(struct tracked *t, const struct process *p, uint64_t present, bool dear)
{
    uint64_t costly = rules_that_cost(t);
    uint64_t asked = t->discovery.rule_bits & ~(dear ? 0 : costly);
    uid_t user = (uid_t)-1;
    uint64_t bits = 0;
    if ((asked & costly) && process_user(&t->reader, p->entity.pid, &user) < 0)
        bits = present & asked & costly; /* not to be asked is not to have left */
    for (size_t i = 0; i < t->target_count; i++)
        if ((t->targets[i].bit & asked) && rules_belongs(&t->targets[i], p, user))
            bits |= t->targets[i].bit;
    return bits;
}

uint64_t rules_matching(struct tracked *t, pid_t pid)
{
    uint64_t bits = 0;
    char *line = NULL;
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (!g->has_regex)
            continue;
        if (!line && process_command_line(&t->reader, pid, &line) < 0)
            return 0;
        if (regexec(&g->regex, line, 0, NULL, 0) == 0)
            bits |= g->bit;
    }
    /* A shell, sudo or timeout that started toll has the expression on its own command line. The
     * first process of all is above every other, and counts when it matches. */
    bool has_started_us = bits && pid != 1 && !t->discovery.with_tracker &&
                          process_is_above(&t->reader, pid, t->discovery.tracker_pid);
    return has_started_us ? 0 : bits;
}

struct cgroup_question {
    struct tracked *t;
    struct target *g;
    void (*meet)(void *tracker, pid_t pid);
};

static void meet_in_cgroup(void *arg, pid_t pid)
{
    const struct cgroup_question *q = arg;
    map_put(&q->g->in_cgroup, (uint32_t)pid, 1);
    q->meet(q->t, pid);
}

/* Ask the cgroups who is in them; meet is called with each. */
static void rules_ask_cgroups(struct tracked *t, void (*meet)(void *tracker, pid_t pid))
{
    for (size_t i = 0; i < t->target_count; i++) {
        struct target *g = &t->targets[i];
        if (!g->cgroup)
            continue;
        map_clear(&g->in_cgroup);
        struct cgroup_question q = {.t = t, .g = g, .meet = meet};
        cgroup_each_pid(g->cgroup, meet_in_cgroup, &q);
    }
}

/* ==== Membership ============================================================================== */

void membership_init(struct tracked *t, pid_t tracker_pid)
{
    members_init(&t->members, sizeof(struct process_source));
    t->discovery = (struct discovery){.tracker_pid = tracker_pid, .loadavg = -1};
    process_source_init(&t->discovery.tracker);
}

void membership_done(struct tracked *t)
{
    for (size_t i = 0; i < t->members.count; i++)
        process_source_done(source_of(t->members.order[i]), &t->reader);
    process_source_done(&t->discovery.tracker, &t->reader);
    if (t->discovery.loadavg >= 0)
        close(t->discovery.loadavg);
    map_done(&t->discovery.outsiders);
    map_done(&t->discovery.judged_before);
    map_done(&t->discovery.strangers);
    members_done(&t->members);
}

void membership_plan(struct tracked *t)
{
    struct discovery *d = &t->discovery;
    d->tree_bits = d->rule_bits = 0;
    for (size_t i = 0; i < t->target_count; i++) {
        const struct target *g = &t->targets[i];
        if (!target_is_tree(g))
            d->rule_bits |= g->bit;
        else if (!t->options->no_children)
            d->tree_bits |= g->bit;
        d->by_match |= g->has_regex;
        d->by_scan |= !g->is_launched && g->kind != TOLL_TARGET_PROCESS &&
                      g->kind != TOLL_TARGET_CGROUP;
    }
}

/* ---- Strangers ------------------------------------------------------------------------------- */

void membership_add_stranger(void *tracker, pid_t pid)
{
    struct tracked *t = tracker;
    map_put(&t->discovery.strangers, (uint32_t)pid, 1);
}

void membership_note_strangers(struct tracked *t)
{
    /* The usual case, without a file: this process has no child, alive or ended. */
    siginfo_t child;
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD)
        return;
    process_children(&t->reader, &t->discovery.tracker, t->discovery.tracker_pid,
                     membership_add_stranger, t);
}

bool membership_is_stranger(const struct tracked *t, pid_t pid)
{
    uint32_t known;
    return map_get(&t->discovery.strangers, (uint32_t)pid, &known) || gpus_own_child(t->gpus, pid);
}

struct child_search {
    const struct tracked *t;
    bool found;
};

static void look_for_child(void *arg, pid_t pid)
{
    struct child_search *search = arg;
    search->found |= !membership_is_stranger(search->t, pid);
}

bool membership_has_children(struct tracked *t)
{
    struct child_search search = {.t = t};
    process_children(&t->reader, &t->discovery.tracker, t->discovery.tracker_pid, look_for_child,
                     &search);
    return search.found;
}

/* ---- Coming ---------------------------------------------------------------------------------- */

/* With the bit of the union, when it belongs to anything. */
static uint64_t with_union(struct tracked *t, uint64_t bits)
{
    uint64_t targets = t->target_count > 1 ? bits & ~t->whole->bit : 0;
    t->discovery.overlap |= (targets & (targets - 1)) != 0;
    return bits && t->target_count > 1 ? bits | t->whole->bit : bits;
}

static struct member *membership_add_member(struct tracked *t, pid_t pid, uint64_t bits)
{
    struct member *m = members_add(&t->members, pid);
    if (!m) {
        tracked_note(
            t, "out of memory: a process is not sampled; its usage is counted when it is reaped");
        return NULL;
    }
    process_source_init(source_of(m));
    m->targets = with_union(t, bits);
    return m;
}

struct member *membership_add_root(struct tracked *t, pid_t pid, uint64_t bits)
{
    struct member *m = members_find(&t->members, pid);
    if (!m)
        m = membership_add_member(t, pid, 0);
    if (!m)
        return NULL;
    m->targets = with_union(t, m->targets | bits);
    m->root_of |= bits;
    m->process.splits_io = true;
    return m;
}

static bool membership_is_own(const struct tracked *t, pid_t pid)
{
    return (pid == t->discovery.tracker_pid && !t->discovery.with_tracker) ||
           membership_is_stranger(t, pid);
}

/* The targets that a child has from its parent. */
static uint64_t handed_down(const struct tracked *t, const struct member *parent)
{
    if (parent)
        return parent->targets & t->discovery.tree_bits;
    return is_launched(t) ? t->whole->bit & t->discovery.tree_bits : 0;
}

/* The kernel cuts these times to whole ticks: it may have used almost a tick more of each. What
 * this process inherited is known without ticks (own_thread_children). */
static struct tick_times rounded_up(const struct tracked *t, const struct process *p)
{
    uint64_t tick = t->root.live ? t->reader.ns_per_tick : 0; /* recordings have whole ticks */
    bool is_own = p->entity.pid == t->reader.own.pid;
    bool has_reaped = inherited_u64(&p->inherited, process_faults_minor_count);
    uint64_t of_children = has_reaped && !is_own ? tick : 0;
    return (struct tick_times){
        .user = row_u64(&p->own, process_cpu_user_seconds) + tick,
        .system = row_u64(&p->own, process_cpu_system_seconds) + tick,
        .children_user = inherited_u64(&p->inherited, process_cpu_user_seconds) + of_children,
        .children_system = inherited_u64(&p->inherited, process_cpu_system_seconds) + of_children,
    };
}

void membership_round_up(const struct tracked *t, struct process *p)
{
    if (!t->root.live || p->is_hidden)
        return; /* recordings have whole ticks; of a hidden process only the sum is known */
    struct tick_times most = rounded_up(t, p);
    if (!t->reader.has_clock)
        row_put_u64(&p->own, process_cpu_seconds, most.user + most.system);
    inherited_put(&p->inherited, process_cpu_seconds, most.children_user + most.children_system);
}

void membership_set_baseline(const struct tracked *t, struct process *p)
{
    p->baseline = rounded_up(t, p);
    membership_round_up(t, p);
}

/* It belongs to more targets than it did. */
static void membership_gain(struct tracked *t, struct member *m, uint64_t bits)
{
    uint64_t more = with_union(t, m->targets | bits) & ~m->targets;
    bool from_birth = t->options->since_start && !m->been; /* what it used counts once */
    m->targets |= more;
    t->members_changed |= more != 0;
    struct member joining = *m; /* its figures in other books stay as they are */
    if (more && !from_birth)
        membership_round_up(t, &joining.process);
    if (m->was_seen)
        for (size_t i = 0; i < book_count(t); i++)
            if (t->targets[i].bit & more)
                ledger_join(&t->targets[i].ledger, &joining, from_birth);
    if (more && !from_birth)
        m->base_unknown |= ledger_unknown_base(&t->whole->ledger, &m->process);
    if (more)
        m->joined_ticks = from_birth ? 0 : t->discovery.walked_ticks;
    m->been |= m->was_seen ? m->targets : 0;
}

void membership_meet(void *tracker, pid_t pid)
{
    struct tracked *t = tracker;
    if (membership_is_own(t, pid))
        return;
    const struct member *parent = t->discovery.parent;
    struct member *m = members_find(&t->members, pid);
    uint64_t bits = handed_down(t, parent);
    bool watched = parent && (parent->targets & t->discovery.rule_bits);
    if (m && bits & ~m->targets)
        membership_gain(t, m, bits);
    else if (!m && (bits || watched)) {
        m = membership_add_member(t, pid, bits);
        if (m) /* its own files say so, too, where they are shown */
            m->process.entity.parent = parent ? parent->process.entity.pid
                                              : t->discovery.tracker_pid;
    }
}

static bool has_to_be_watched(const struct tracked *t, const struct member *m)
{
    const struct member *parent = members_find(&t->members, m->process.entity.parent);
    return parent && (parent->targets & t->discovery.rule_bits);
}

bool membership_confirm(struct tracked *t, struct member *m)
{
    uint64_t bits = m->root_of;
    /* By descent, as far as its parent is a member. A parent that was not looked at yet may be any
     * process of the machine. */
    const struct member *parent = members_find(&t->members, m->process.entity.parent);
    if (m->process.entity.parent == t->discovery.tracker_pid && is_launched(t))
        bits |= handed_down(t, NULL);
    else if (parent && parent->was_seen)
        bits |= handed_down(t, parent);
    if (t->discovery.rule_bits)
        bits |= rules_of(t, &m->process, m->targets, true);
    if (t->discovery.by_match) {
        m->root_of |= rules_matching(t, m->process.entity.pid);
        bits |= m->root_of;
    }
    m->targets = with_union(t, bits);
    return bits || has_to_be_watched(t, m);
}

/* What was there before tracking began does not count from birth, nor what was elsewhere before it
 * joined: that is any process that could have been found in the last walk and is not a child of a
 * member, born since that is one. A process that matches by its command line is what it was,
 * whenever that was read. */
static bool counts_from_birth(const struct tracked *t, const struct member *m)
{
    const struct discovery *d = &t->discovery;
    const struct member *parent = members_find(&t->members, m->process.entity.parent);
    uint64_t born = m->process.entity.start_ticks;
    if (is_launched(t) || t->options->since_start)
        return true;
    bool is_child = parent && parent->was_seen && (parent->targets & m->targets) &&
                    born >= parent->joined_ticks;
    return !d->attaching && born >= d->start_ticks &&
           (m->root_of || is_child || born >= d->walked_ticks);
}

void membership_welcome(struct tracked *t, struct member *m, uint64_t now_ns)
{
    struct process *p = &m->process;
    bool from_birth = counts_from_birth(t, m);
    struct member *parent = members_find(&t->members, p->entity.parent);
    if (parent)
        parent->had_children = true;
    m->was_seen = true;
    p->first_seen_ns = now_ns;
    if (!from_birth) {
        membership_set_baseline(t, p);
        m->base_unknown = ledger_unknown_base(&t->whole->ledger, p);
        m->old_peak_bytes = row_u64(&p->own, process_memory_peak_bytes);
    }
    m->inherited_base_ns = inherited_u64(&p->inherited, process_cpu_seconds);
    for (size_t i = 0; i < book_count(t); i++) {
        struct target *g = &t->targets[i];
        if (!(m->targets & g->bit))
            continue;
        if (target_has_main(g) && (m->root_of & g->bit))
            m->main_of |= g->bit;
        if (g->is_launched && (m->main_of & g->bit))
            t->discovery.start_ticks = p->entity.start_ticks;
        ledger_join(&g->ledger, m, from_birth);
    }
    m->been |= m->targets;
    m->joined_ticks = from_birth ? 0 : t->discovery.walked_ticks;
}

/* ---- Staying --------------------------------------------------------------------------------- */

bool membership_review(struct tracked *t, struct member *m, bool thoroughly)
{
    uint64_t rules = t->discovery.rule_bits;
    if (thoroughly && t->discovery.by_match) {
        /* What it executes now may match; once it has, it stays. */
        uint64_t more = rules_matching(t, m->process.entity.pid) & ~m->targets;
        m->root_of |= more;
        if (more)
            membership_gain(t, m, more);
    }
    if (!rules)
        return true;
    uint64_t now = rules_of(t, &m->process, m->targets, thoroughly);
    uint64_t asked = thoroughly ? rules : rules & ~rules_that_cost(t);
    uint64_t lost = m->targets & asked & ~now;
    uint64_t left = m->targets & ~lost;
    if (t->target_count > 1 && !((left | (now & asked)) & ~t->whole->bit))
        lost |= m->targets & t->whole->bit; /* the union of nothing */
    for (size_t i = 0; lost && i < book_count(t); i++)
        if (t->targets[i].bit & lost)
            ledger_part(&t->targets[i].ledger, m);
    m->targets &= ~lost;
    m->parted = lost;
    t->members_changed |= lost != 0;
    if (now & asked & ~m->targets)
        membership_gain(t, m, now & asked);
    /* One that has parted may come back: what it used until then is in the books. */
    return m->targets || m->been || has_to_be_watched(t, m);
}

/* ---- Looking at everybody -------------------------------------------------------------------- */

/* To list all processes of a machine is expensive, and shows none that is not found anyway. */
#define FULL_SCAN_NS (10 * NS_PER_SECOND)

struct scan_request {
    struct tracked *t;
    bool by_parent; /* the kernel lists no children */
};

/* What is remembered of a process that belongs to no target, as one number that is not 0: its CPU
 * time so far, and for how many reviews that has stood still. As long as it does, the process has
 * not called exec and has not changed its user, and no other one has taken its number. */
enum { STILL_AT_MOST = 7, STILL_MASK = 7, RAN_MASK = ~STILL_MASK, NEVER_ZERO = 8 };

/* 0: there is no such process, or it is a thread. */
static uint32_t outsider_mark(pid_t pid, uint32_t before)
{
    uint64_t cpu_ns;
    if (clock_process_cpu(pid, &cpu_ns) < 0)
        return 0;
    uint32_t mark = ((uint32_t)(cpu_ns ^ cpu_ns >> 32) & (uint32_t)RAN_MASK) | NEVER_ZERO;
    uint32_t still = before & STILL_MASK;
    bool is_still = (before & (uint32_t)RAN_MASK) == mark;
    return is_still ? mark | (still < STILL_AT_MOST ? still + 1 : still) : mark;
}

/* As little as possible is read: most processes of a machine have nothing to do with the job. */
static void meet_unknown(void *arg, pid_t pid)
{
    const struct scan_request *request = arg;
    struct tracked *t = request->t;
    struct discovery *d = &t->discovery;
    uint32_t mark = NEVER_ZERO, before = 0;
    if (membership_is_own(t, pid) || members_find(&t->members, pid) ||
        map_get(&d->outsiders, (uint32_t)pid, &before))
        return;
    map_get(&d->judged_before, (uint32_t)pid, &before);
    if (t->reader.has_clock && !(mark = outsider_mark(pid, before)))
        return;
    bool has_run = !(mark & STILL_MASK);
    struct process p = {.entity = {.pid = pid}};
    bool is_quick = !request->by_parent &&
                    (!d->rule_bits || process_identify_quickly(&t->reader, &p) == 0);
    if (!is_quick && process_identify(&t->reader, &p) < 0)
        return;
    const struct member *parent = is_quick ? NULL : members_find(&t->members, p.entity.parent);
    uint64_t bits = rules_of(t, &p, 0, has_run);
    uint64_t roots = has_run ? rules_matching(t, pid) : 0;
    if (request->by_parent && (parent || (is_launched(t) && p.entity.parent == d->tracker_pid)))
        bits |= handed_down(t, parent);
    if (roots)
        membership_add_root(t, pid, roots | bits);
    else if (bits || (parent && (parent->targets & d->rule_bits)))
        membership_add_member(t, pid, bits);
    else
        map_put(&d->outsiders, (uint32_t)pid, mark);
}

/* The kernel hands out numbers in order: those since a while ago are all the new processes there
 * can be. False when the numbers have begun again, or there are too many. */
static bool scan_new_numbers(struct scan_request *request)
{
    enum { NUMBERS_AT_MOST = 4000 };
    const struct tracked *t = request->t;
    uint64_t from = t->discovery.older_pid, last = t->discovery.last_pid;
    if (!t->reader.has_clock || t->root.pids < 0 || !from || last < from ||
        last - from > NUMBERS_AT_MOST)
        return false;
    for (uint64_t pid = from + 1; pid <= last; pid++)
        meet_unknown(request, (pid_t)pid);
    return true;
}

/* Those that have slept for a while are reviewed in turns: to touch thousands of processes costs
 * more than to ask them. */
static void scan_judged_before(struct scan_request *request)
{
    enum { TURNS = 4 };
    struct discovery *d = &request->t->discovery;
    const struct map *judged = &d->judged_before;
    d->reviews++;
    for (uint32_t i = 0; i < judged->capacity; i++) {
        uint32_t pid = judged->slots[i].key, mark = judged->slots[i].value;
        if (pid && (mark & STILL_MASK) == STILL_AT_MOST && (pid + d->reviews) % TURNS)
            map_put(&d->outsiders, pid, mark);
        else if (pid)
            meet_unknown(request, (pid_t)pid);
    }
}

static void meet_of_cgroup(void *arg, pid_t pid)
{
    struct tracked *t = arg;
    if (!membership_is_own(t, pid) && !members_find(&t->members, pid))
        membership_add_member(t, pid, 0); /* its rule is asked when it is read */
}

void membership_scan(struct tracked *t, bool by_parent, bool again)
{
    rules_ask_cgroups(t, meet_of_cgroup);
    if (!by_parent && !t->discovery.by_scan)
        return;
    struct discovery *d = &t->discovery;
    struct scan_request request = {.t = t, .by_parent = by_parent};
    if (again) { /* each is judged again, and those that have ended are forgotten */
        struct map judged = d->outsiders;
        d->outsiders = d->judged_before;
        d->judged_before = judged;
    }
    bool knows_new = !by_parent && scan_new_numbers(&request);
    bool is_due = d->walked_ns >= d->scan_after_ns || t->is_last;
    if (knows_new && again && !is_due) {
        scan_judged_before(&request);
    } else if (!knows_new || again) {
        d->scan_after_ns = d->walked_ns + FULL_SCAN_NS;
        process_scan(&t->reader, meet_unknown, &request);
    }
    map_clear(&d->judged_before);
}

void membership_put_wall(const struct tracked *t, struct member *m, uint64_t elapsed_ns)
{
    uint64_t began = t->discovery.start_ticks, born = m->process.entity.start_ticks;
    uint64_t tick = t->reader.ns_per_tick;
    if (began && born) /* the start of a hidden process is not known */
        row_put_u64(
            &m->process.own, process_wall_seconds,
            left_u64(elapsed_ns + left_u64(began, born) * tick, left_u64(born, began) * tick));
}
