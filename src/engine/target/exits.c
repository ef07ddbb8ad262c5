/* SPDX-License-Identifier: MIT
 * The proof of a loss. A process that executed a program had page faults, and whichever process
 * waits for it inherits them (cminflt). A parent that is alive, whose child has gone and which has
 * inherited nothing since before that child ended, did not wait for it. It is enough that one
 * reading of the parent was made before the end of the child; before the first one it had inherited
 * nothing. */
#include "engine/target/exits.h"

#include "base/memory.h"
#include "source/pid_files.h"

#include <string.h>

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
        if (!p->loss_noted && !(m && m->loss_noted))
            tracked_note(
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

void exits_read(struct exit_watch *w, struct tracked *t, bool last)
{
    if (!w->is_on)
        return;
    task_records_read(&w->records, last);
    if (t->root.pids >= 0)
        exits_judge(w, t);
    ledger_put_recorded(&t->whole->ledger, 1 + w->records.started);
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
