/* SPDX-License-Identifier: MIT
 * A world of processes that fork, work, change their group, lose their parent, end and are reaped,
 * watched by the real rules of membership and departure, against the truth. */
#include "engine/target/walk.h"

#include "proc_tree.h"

#include "engine/target/membership.h"
#include "engine/target/targets.h"
#include "engine/tick.h"

enum { SLOTS = 48, GROUPS = 3, FIRST_PID = 1 << 23 }; /* above any pid of this machine */

struct task {
    bool alive, zombie;
    bool seen;  /* by a walk, as it is */
    int parent; /* its place, 0: outside */
    int group;  /* 0: none that is measured */
    pid_t pid;
    uint64_t cpu, inherited;
};

struct world {
    struct task tasks[SLOTS];
    uint64_t seed;
    pid_t last_pid;
    bool fair; /* everybody is looked at between two changes */
    uint64_t truth[GROUPS];
    struct toll_tracker *t;
};

static pid_t group_id(int group)
{
    return FIRST_PID / 2 + group;
}

/* ---- What happens ---------------------------------------------------------------------------- */

static void spawn(struct world *w, int parent, int group)
{
    for (int i = 1; i < SLOTS; i++)
        if (!w->tasks[i].alive) {
            w->tasks[i] = (struct task){
                .alive = true, .parent = parent, .group = group, .pid = ++w->last_pid};
            return;
        }
}

static void work(struct world *w, struct task *t)
{
    uint64_t cpu = random_magnitude(&w->seed, 24);
    t->cpu += cpu;
    w->truth[t->group] += cpu;
}

static void exit_task(struct world *w, int slot)
{
    w->tasks[slot].zombie = true;
    w->tasks[slot].seen = false;
    for (int i = 1; i < SLOTS; i++)
        if (w->tasks[i].alive && w->tasks[i].parent == slot) {
            w->tasks[i].parent = 0;
            w->tasks[i].seen = false;
        }
}

static void reap_children(struct world *w, int slot)
{
    for (int i = 1; i < SLOTS; i++) {
        struct task *child = &w->tasks[i];
        if (!child->alive || !child->zombie || child->parent != slot || (w->fair && !child->seen))
            continue;
        w->tasks[slot].inherited += child->cpu + child->inherited;
        child->alive = false;
        w->tasks[slot].seen = false;
    }
}

/* In a fair world nobody does anything between a change and the look at it. */
static void happen(struct world *w)
{
    int slot = (int)random_below(&w->seed, SLOTS - 1) + 1;
    struct task *t = &w->tasks[slot];
    if (!t->alive || t->zombie || (w->fair && !t->seen))
        return;
    uint64_t what = random_below(&w->seed, 100);
    if (what < 50)
        work(w, t);
    else if (what < 68)
        spawn(w, slot, t->group);
    else if (what < 80)
        reap_children(w, slot);
    else if (what < 88 && slot > 2)
        exit_task(w, slot);
    else if (what >= 95 && slot > 2) {
        t->group = (int)random_below(&w->seed, GROUPS);
        t->seen = false;
    }
}

static void happen_much(struct world *w)
{
    for (uint64_t n = random_below(&w->seed, 60); n; n--)
        happen(w);
    reap_children(w, 0); /* whoever is outside waits for its children */
}

/* ---- Looking --------------------------------------------------------------------------------- */

static struct task *task_of(struct world *w, pid_t pid)
{
    for (int i = 1; i < SLOTS; i++)
        if (w->tasks[i].alive && w->tasks[i].pid == pid)
            return &w->tasks[i];
    return NULL;
}

static bool visit(struct world *w, struct process *p)
{
    struct task *t = task_of(w, p->entity.pid);
    if (!t)
        return false;
    t->seen = true;
    p->state = t->zombie ? 'Z' : 'R';
    p->has_ended = t->zombie;
    p->group = group_id(t->group);
    p->entity.parent = t->parent ? w->tasks[t->parent].pid : 1;
    p->entity.start_ticks = (uint64_t)t->pid;
    row_put_u64(&p->own, process_cpu_seconds, t->cpu);
    inherited_put(&p->inherited, process_cpu_seconds, t->inherited);
    return true;
}

static void turn_away(struct world *w, struct member *m)
{
    departure_forget(w->t, m);
    m->in_books = true;
}

static void look_at(struct world *w, struct member *m)
{
    if (!visit(w, &m->process)) {
        departure_forget(w->t, m);
    } else if (!m->was_seen) {
        if (membership_confirm(w->t, m))
            membership_welcome(w->t, m, 1);
        else
            turn_away(w, m);
    } else if (!membership_review(w->t, m, true)) {
        turn_away(w, m);
    }
}

/* Parents first, as a walk does; then those that are new, until nobody is. */
static void walk_over(struct world *w)
{
    struct members *members = &w->t->members;
    for (size_t i = 0; i < members->count; i++) {
        if (!w->fair)
            happen(w);
        look_at(w, members->order[i]);
    }
    departure_book(w->t, 1);
    for (size_t before = SIZE_MAX; before != members->count;) {
        before = members->count;
        for (int i = 1; i < SLOTS; i++)
            if (w->tasks[i].alive && !members_find(members, w->tasks[i].pid)) {
                struct member *m = members_add(members, w->tasks[i].pid);
                process_source_init(source_of(m));
                look_at(w, m);
            }
        departure_book(w->t, 1);
    }
    for (int i = 1; i < SLOTS; i++) /* whom no target has anything to do with */
        w->tasks[i].seen = true;
    members_sort(members);
    w->t->discovery.walked_ticks = (uint64_t)w->last_pid + 1;
}

/* ---- The books ------------------------------------------------------------------------------- */

static uint64_t cpu_of(struct world *w, size_t book)
{
    struct target *g = &w->t->targets[book];
    struct row parts[PARTS];
    ledger_fold(&g->ledger, &w->t->members, true, false, parts);
    return row_u64(&parts[PART_COMBINED], process_cpu_seconds);
}

static void begin(struct world *w, uint64_t seed, bool fair)
{
    struct toll_options o = {.size = sizeof o};
    *w = (struct world){.seed = seed, .fair = fair, .last_pid = FIRST_PID};
    assert_int_equal(toll_tracker_new(&w->t, &o, NULL), 0);
    assert_int_equal(process_reader_init(&w->t->reader, &w->t->root, ~UINT64_C(0)), 0);
    for (int group = 1; group < GROUPS; group++)
        assert_int_equal(targets_add(w->t,
                                     &(struct toll_target){.size = sizeof(struct toll_target),
                                                           .kind = TOLL_TARGET_GROUP,
                                                           .id = group_id(group)},
                                     NULL),
                         0);
    assert_int_equal(targets_open_books(w->t), 0);
    spawn(w, 0, 1);
    spawn(w, 0, 2);
    for (int i = 1; i < 3; i++) /* what was before the attach */
        w->tasks[i].cpu = w->tasks[i].inherited = 1000000;
    w->t->discovery.start_ticks = (uint64_t)w->last_pid + 1;
    w->t->discovery.attaching = true;
    walk_over(w);
    w->t->discovery.attaching = false;
}

/* Nobody does anything unseen: then every figure is the truth at every look, whoever went where. */
static void test_groups_have_what_they_used(void **state)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        begin(&w, seed, true);
        for (int tick = 0; tick < 80; tick++) {
            happen_much(&w);
            walk_over(&w);
            assert_int_equal(cpu_of(&w, 0), w.truth[1]);
            assert_int_equal(cpu_of(&w, 1), w.truth[2]);
            assert_int_equal(cpu_of(&w, 2), w.truth[1] + w.truth[2]);
            assert_false(w.t->discovery.overlap);
        }
        toll_tracker_free(w.t);
    }
}

/* The world does not stand still: what is seen late may be told late or not at all, but totals
 * never fall, and nothing is more than everybody used. */
static void test_groups_never_fall(void **state)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        begin(&w, seed, false);
        uint64_t before[GROUPS] = {0};
        for (int tick = 0; tick < 80; tick++) {
            happen_much(&w);
            walk_over(&w);
            uint64_t everything = w.truth[0] + w.truth[1] + w.truth[2];
            for (size_t i = 0; i < GROUPS; i++) {
                uint64_t now = cpu_of(&w, i);
                assert_true(now >= before[i]);
                assert_true(now <= everything);
                before[i] = now;
            }
        }
        toll_tracker_free(w.t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_have_what_they_used),
        cmocka_unit_test(test_groups_never_fall),
    };
    return RUN("departure", tests);
}
