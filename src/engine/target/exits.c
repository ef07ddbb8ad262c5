/* SPDX-License-Identifier: MIT
 * The proof of a loss. A process that executed a program had page faults, and whichever process
 * waits for it inherits them (cminflt). A parent that is alive, whose child has gone and which has
 * inherited nothing since before that child ended, did not wait for it. It is enough that one
 * reading of the parent was made before the end of the child; before the first one it had inherited
 * nothing. */
#include "engine/target/exits.h"

#include "base/memory.h"
#include "engine/outputs.h"
#include "engine/step.h"
#include "source/pid_files.h"

#include <string.h>

enum { PARENTS_AT_MOST = 1 << 16 };

void exits_open(struct toll_tracker *t, pid_t child)
{
    t->exits.failure = task_records_open(&t->exits.records, child);
    t->exits.is_on = t->exits.failure == 0;
}

void exits_begin(struct toll_tracker *t)
{
    int failure = t->exits.failure;
    if (failure)
        outputs_note(
            t,
            "--watch-exits: %s (see toll doctor watch-exits); children that were discarded "
            "between two looks go unnoticed",
            failure == -EACCES || failure == -EPERM ? "the kernel or a sandbox does not allow it"
            : failure == -ENOMEM                    ? "too little memory may be locked"
                                                    : strerror(-failure));
    for (size_t i = 0; t->exits.is_on && task_records_fd(&t->exits.records, i) >= 0; i++)
        wakeup_watch(t, task_records_fd(&t->exits.records, i));
}

/* What is known of a parent, by its pid. */
struct exit_parent {
    uint64_t start_ticks;
    uint64_t faults;  /* inherited, … */
    uint64_t read_ns; /* … when it was read, 0: at its birth */
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

static void read_parent(struct toll_tracker *t, pid_t pid, struct exit_parent *p)
{
    struct pid_stat st;
    p->round = t->exits.round;
    p->is_alive = false;
    ssize_t n = process_read_once(&t->reader, pid, "stat");
    if (n < 0 || parse_pid_stat(scan_text(t->reader.text, (size_t)n), &st) < 0 || st.state == 'Z' ||
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

/* A pid may be in use again: the parent was there well before. */
static bool was_there(const struct toll_tracker *t, const struct exit_parent *p,
                      const struct task_exit *e)
{
    uint64_t ago_ns = left_u64(clock_mono(NULL), e->at_ns);
    uint64_t ended_ns = left_u64(clock_since_boot(), ago_ns);
    return (p->start_ticks + 2) * t->reader.ns_per_tick < ended_ns;
}

/* Its pid is free again: it was reaped, or discarded. */
static bool is_gone(pid_t pid)
{
    return kill(pid, 0) < 0 && errno == ESRCH;
}

static void judge_exits(struct toll_tracker *t)
{
    struct exit_watch *w = &t->exits;
    struct task_records *r = &w->records;
    uint64_t began_ns = clock_mono(NULL);
    w->round++;
    /* All children are looked for before any parent is read: what it inherited by then is there. */
    for (size_t i = 0; i < r->exit_count; i++)
        r->exits[i].has_execed = r->exits[i].has_execed && is_gone(r->exits[i].pid);
    for (size_t i = 0; i < r->exit_count; i++) {
        const struct task_exit *e = &r->exits[i];
        if (!e->has_execed || e->parent <= 1 || e->parent == t->owner_pid)
            continue;
        struct exit_parent *p = exits_find_parent(w, e->parent);
        if (!p)
            continue;
        if (p->round != w->round)
            read_parent(t, e->parent, p);
        if (!p->is_alive || p->faults_now != p->faults || e->at_ns <= p->read_ns ||
            !was_there(t, p, e))
            continue;
        t->whole->ledger.losing = true;
        struct member *m = members_find_any(&t->members, e->parent);
        if (!p->loss_noted && !(m && m->loss_noted))
            outputs_note(
                t, "process %d (%s) does not wait for its children; their usage is a lower bound",
                (int)e->parent, p->name);
        p->loss_noted = true;
        if (m)
            m->loss_noted = true;
    }
    for (size_t i = 0; i < w->parent_count; i++)
        if (w->parents[i].round == w->round && w->parents[i].is_alive) {
            w->parents[i].faults = w->parents[i].faults_now;
            w->parents[i].read_ns = clock_mono(NULL);
        }
    t->discovery.apart_ns += left_u64(clock_mono(NULL), began_ns);
}

void exits_read(struct toll_tracker *t, bool last)
{
    if (!t->exits.is_on)
        return;
    task_records_read(&t->exits.records, last);
    if (t->root.pids >= 0)
        judge_exits(t);
    t->whole->ledger.recorded = 1 + t->exits.records.started;
}

bool exits_are_complete(const struct toll_tracker *t)
{
    return t->exits.is_on && !t->exits.records.is_incomplete;
}

void exits_close(struct toll_tracker *t)
{
    task_records_close(&t->exits.records);
    free(t->exits.parents);
    map_done(&t->exits.by_pid);
    t->exits = (struct exit_watch){0};
}
