/* SPDX-License-Identifier: MIT */
#include "engine/target/targets.h"
#include "engine/target/reap.h"
#include "engine/target/walk.h"
#include "engine/tracker.h"
#include "proc_tree.h"
#include "unit.h"

/* ---- targets -------------------------------------------------------------------------------- */

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

static int targets_test_add(struct toll_tracker *t, enum toll_target_kind kind, pid_t id,
                            struct toll_error *e)
{
    return targets_add(
        &t->tracked,
        &(struct toll_target){.size = sizeof(struct toll_target), .kind = kind, .id = id}, e);
}

static void test_targets_one_is_the_whole(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(targets_test_add(t, TOLL_TARGET_PROCESS, 5, NULL), 0);
    assert_int_equal(targets_open_books(&t->tracked, &t->summary), 0);
    assert_ptr_equal(t->tracked.whole, &t->tracked.targets[0]);
    assert_int_equal(book_count(&t->tracked), 1);
    assert_true(target_has_parts(&t->tracked, t->tracked.whole));
    assert_ptr_equal(target_summary_of(&t->summary, &t->tracked, t->tracked.whole),
                     &t->summary.whole);
    toll_tracker_free(t);
}

static void test_targets_several_have_a_union(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 5, NULL), 0);
    assert_int_equal(targets_test_add(t, TOLL_TARGET_PROCESS, 6, NULL), 0);
    assert_int_equal(targets_open_books(&t->tracked, &t->summary), 0);
    assert_int_equal(book_count(&t->tracked), 3);
    assert_true(t->tracked.whole->is_union);
    assert_false(target_has_parts(&t->tracked, t->tracked.whole));
    assert_false(target_has_parts(&t->tracked, &t->tracked.targets[0]));
    assert_true(target_has_parts(&t->tracked, &t->tracked.targets[1]));
    assert_int_equal(t->tracked.targets[0].bit | t->tracked.targets[1].bit | t->tracked.whole->bit,
                     7);
    toll_tracker_free(t);
}

static void test_targets_63_and_no_more(void **state)
{
    struct toll_tracker *t = make();
    for (pid_t id = 1; id <= 63; id++)
        assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, id, NULL), 0);
    struct toll_error e = {0};
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 64, &e), -EINVAL);
    assert_non_null(strstr(e.message, "at most 63"));
    assert_int_equal(targets_open_books(&t->tracked, &t->summary), 0);
    assert_true(t->tracked.whole->bit == UINT64_C(1) << 63);
    toll_tracker_free(t);
}

static void test_targets_one_that_is_refused_leaves_nothing(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 5, NULL), 0);
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 5, NULL), -EINVAL); /* named twice */
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, -1, NULL), -EINVAL);
    assert_int_equal(targets_test_add(t, TOLL_TARGET_USER, 0, NULL), -EINVAL);
    assert_int_equal(t->tracked.target_count, 1);
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 6, NULL), 0);
    assert_int_equal(t->tracked.targets[1].bit, 2);
    toll_tracker_free(t);
}

static void test_targets_the_end_of_all(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(targets_end(&t->tracked, 99), 99);
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 5, NULL), 0);
    assert_int_equal(targets_test_add(t, TOLL_TARGET_GROUP, 6, NULL), 0);
    t->tracked.targets[0].ended = true;
    t->tracked.targets[0].end_ns = 40;
    assert_int_equal(targets_end(&t->tracked, 99), 99); /* one goes on */
    t->tracked.targets[1].ended = true;
    t->tracked.targets[1].end_ns = 30;
    assert_int_equal(targets_end(&t->tracked, 99), 40);
    toll_tracker_free(t);
}

/* ---- rules ---------------------------------------------------------------------------------- */

struct case_of {
    struct tree tree;
    struct toll_tracker *t;
};

static void rules_add(struct case_of *c, enum toll_target_kind kind, pid_t id, const char *text)
{
    struct toll_target asked = {.size = sizeof asked, .kind = kind, .id = id, .text = text};
    assert_int_equal(targets_add(&c->t->tracked, &asked, NULL), 0);
}

static void rules_begin(struct case_of *c)
{
    struct toll_options o = {.size = sizeof o};
    tree_make(&c->tree);
    tree_write(&c->tree, "proc/version", "Linux\n");
    assert_int_equal(toll_tracker_new(&c->t, &o, NULL), 0);
    assert_int_equal(sysroot_open(&c->t->tracked.root, c->tree.path, NULL), 0);
    assert_int_equal(process_reader_init(&c->t->tracked.reader, &c->t->tracked.root, ~UINT64_C(0)),
                     0);
}

static void end(struct case_of *c)
{
    toll_tracker_free(c->t);
    tree_remove(&c->tree);
}

static void test_rules_group_session_user(void **state)
{
    struct case_of c;
    rules_begin(&c);
    rules_add(&c, TOLL_TARGET_GROUP, 10, NULL);
    rules_add(&c, TOLL_TARGET_SESSION, 20, NULL);
    rules_add(&c, TOLL_TARGET_USER, 0, "1000");
    assert_int_equal(targets_open_books(&c.t->tracked, &c.t->summary), 0);
    proc_write(&c.tree, 7, "status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n");
    proc_write(&c.tree, 8, "status", "Name:\tx\nUid:\t1001\t1001\t1001\t1001\n");
    assert_int_equal(rules_that_cost(&c.t->tracked), 4);
    struct process p = {.entity = {.pid = 7}, .group = 10, .session = 20};
    assert_int_equal(rules_of(&c.t->tracked, &p, 0, true), 7);
    assert_int_equal(rules_of(&c.t->tracked, &p, 0, false),
                     3); /* who it belongs to is dear to ask */
    p = (struct process){.entity = {.pid = 8}, .group = 11, .session = 20};
    assert_int_equal(rules_of(&c.t->tracked, &p, 0, true), 2);
    p = (struct process){.entity = {.pid = 9}}; /* gone by now */
    assert_int_equal(rules_of(&c.t->tracked, &p, 0, true), 0);
    assert_int_equal(rules_of(&c.t->tracked, &p, 7, true),
                     4); /* it has not become somebody else's */
    end(&c);
}

static void test_rules_matches(void **state)
{
    struct case_of c;
    rules_begin(&c);
    rules_add(&c, TOLL_TARGET_MATCH, 0, "^/bin/job -x");
    rules_add(&c, TOLL_TARGET_MATCH, 0, "kworker|job");
    assert_int_equal(targets_open_books(&c.t->tracked, &c.t->summary), 0);
    assert_true(c.t->tracked.discovery.by_match && c.t->tracked.discovery.by_scan);
    char path[512];
    tree_write(&c.tree, "proc/7/cmdline", "");
    FILE *f = fopen(tree_path(&c.tree, path, "proc/7/cmdline"), "w");
    assert_non_null(f);
    assert_int_equal(fwrite("/bin/job\0-x\0", 1, 12, f), 12); /* words end with a zero */
    fclose(f);
    assert_int_equal(rules_matching(&c.t->tracked, 7), 3);
    tree_write(&c.tree, "proc/8/cmdline", "");
    tree_write(&c.tree, "proc/8/comm", "kworker/0:1\n"); /* has no command line */
    assert_int_equal(rules_matching(&c.t->tracked, 8), 2);
    tree_write(&c.tree, "proc/9/cmdline", "other");
    assert_int_equal(rules_matching(&c.t->tracked, 9), 0);
    assert_int_equal(rules_matching(&c.t->tracked, 10), 0);
    end(&c);
}

/* ---- own threads ---------------------------------------------------------------------------- */

static void test_own_threads_senders_are_ours(void **state)
{
    struct toll_tracker t = {0};
    struct sink plain = {0}, sends = {0}, *sinks[] = {&plain, &sends};
    struct sender_plan plan = {.queue_bytes = 1000};
    pid_t threads[OWN_THREADS_AT_MOST];
    t.outputs.sinks = sinks;
    t.outputs.count = 2;
    assert_int_equal(own_threads_list(&t, threads), 0);
    assert_int_equal(sender_new(&sends.sender, &plan), 0);
    assert_int_equal(own_threads_list(&t, threads), 0); /* not started yet */
    assert_int_equal(sender_start(sends.sender), 0);
    assert_int_equal(own_threads_list(&t, threads), 1);
    assert_int_equal(threads[0], sender_thread(sends.sender));
    assert_true(own_threads_cpu_ns(&t) > 0);
    own_threads_leave_out(&t);
    assert_int_equal(t.tracked.reader.own.other_count, 0); /* no program measures itself */
    t.tracked.reader.own.pid = getpid();
    own_threads_leave_out(&t);
    assert_int_equal(t.tracked.reader.own.other_count, 1);
    own_thread_done(&t.tracked.reader.own);
    sender_free(sends.sender);
}

static void test_own_threads_more_than_can_be_told_apart(void **state)
{
    enum { MANY = OWN_THREADS_AT_MOST + 3 };
    struct toll_tracker t = {0};
    struct sink all[MANY] = {0}, *sinks[MANY];
    struct sender_plan plan = {.queue_bytes = 1000};
    pid_t threads[OWN_THREADS_AT_MOST];
    t.outputs.sinks = sinks;
    t.outputs.count = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        sinks[i] = &all[i];
        assert_int_equal(sender_new(&all[i].sender, &plan), 0);
        assert_int_equal(sender_start(all[i].sender), 0);
    }
    assert_int_equal(own_threads_list(&t, threads), MANY);
    for (unsigned i = 0; i < MANY; i++)
        sender_free(all[i].sender);
}

/* ---- departure ------------------------------------------------------------------------------ */

/* A world of processes that fork, work, change their group, lose their parent, end and are reaped,
 * watched by the real rules of membership and departure, against the truth. */

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
    departure_forget(&w->t->tracked, m);
    m->in_books = true;
}

static void look_at(struct world *w, struct member *m)
{
    if (!visit(w, &m->process)) {
        departure_forget(&w->t->tracked, m);
    } else if (!m->was_seen) {
        if (membership_confirm(&w->t->tracked, m))
            membership_welcome(&w->t->tracked, m, 1);
        else
            turn_away(w, m);
    } else if (!membership_review(&w->t->tracked, m, true)) {
        turn_away(w, m);
    }
}

/* Parents first, as a walk does; then those that are new, until nobody is. */
static void walk_over(struct world *w)
{
    struct members *members = &w->t->tracked.members;
    for (size_t i = 0; i < members->count; i++) {
        if (!w->fair)
            happen(w);
        look_at(w, members->order[i]);
    }
    departure_book(&w->t->tracked, 1);
    for (size_t before = SIZE_MAX; before != members->count;) {
        before = members->count;
        for (int i = 1; i < SLOTS; i++)
            if (w->tasks[i].alive && !members_find(members, w->tasks[i].pid)) {
                struct member *m = members_add(members, w->tasks[i].pid);
                process_source_init(source_of(m));
                look_at(w, m);
            }
        departure_book(&w->t->tracked, 1);
    }
    for (int i = 1; i < SLOTS; i++) /* whom no target has anything to do with */
        w->tasks[i].seen = true;
    members_sort(members);
    w->t->tracked.discovery.walked_ticks = (uint64_t)w->last_pid + 1;
}

/* ---- The books ------------------------------------------------------------------------------- */

static uint64_t cpu_of(struct world *w, size_t book)
{
    struct target *g = &w->t->tracked.targets[book];
    struct row parts[PARTS];
    ledger_fold(&g->ledger, &w->t->tracked.members, true, false, parts);
    return row_u64(&parts[PART_COMBINED], process_cpu_seconds);
}

static void departure_begin(struct world *w, uint64_t seed, bool fair)
{
    struct toll_options o = {.size = sizeof o};
    *w = (struct world){.seed = seed, .fair = fair, .last_pid = FIRST_PID};
    assert_int_equal(toll_tracker_new(&w->t, &o, NULL), 0);
    assert_int_equal(process_reader_init(&w->t->tracked.reader, &w->t->tracked.root, ~UINT64_C(0)),
                     0);
    for (int group = 1; group < GROUPS; group++)
        assert_int_equal(targets_add(&w->t->tracked,
                                     &(struct toll_target){.size = sizeof(struct toll_target),
                                                           .kind = TOLL_TARGET_GROUP,
                                                           .id = group_id(group)},
                                     NULL),
                         0);
    assert_int_equal(targets_open_books(&w->t->tracked, &w->t->summary), 0);
    spawn(w, 0, 1);
    spawn(w, 0, 2);
    for (int i = 1; i < 3; i++) /* what was before the attach */
        w->tasks[i].cpu = w->tasks[i].inherited = 1000000;
    w->t->tracked.discovery.start_ticks = (uint64_t)w->last_pid + 1;
    w->t->tracked.discovery.attaching = true;
    walk_over(w);
    w->t->tracked.discovery.attaching = false;
}

/* Nobody does anything unseen: then every figure is the truth at every look, whoever went where. */
static void test_departure_groups_have_what_they_used(void **state)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        departure_begin(&w, seed, true);
        for (int tick = 0; tick < 80; tick++) {
            happen_much(&w);
            walk_over(&w);
            assert_int_equal(cpu_of(&w, 0), w.truth[1]);
            assert_int_equal(cpu_of(&w, 1), w.truth[2]);
            assert_int_equal(cpu_of(&w, 2), w.truth[1] + w.truth[2]);
            assert_false(w.t->tracked.discovery.overlap);
        }
        toll_tracker_free(w.t);
    }
}

/* The world does not stand still: what is seen late may be told late or not at all, but totals
 * never fall, and nothing is more than everybody used. */
static void test_departure_groups_never_fall(void **state)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        departure_begin(&w, seed, false);
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
        cmocka_unit_test(test_targets_one_is_the_whole),
        cmocka_unit_test(test_targets_several_have_a_union),
        cmocka_unit_test(test_targets_63_and_no_more),
        cmocka_unit_test(test_targets_one_that_is_refused_leaves_nothing),
        cmocka_unit_test(test_targets_the_end_of_all),
        cmocka_unit_test(test_rules_group_session_user),
        cmocka_unit_test(test_rules_matches),
        cmocka_unit_test(test_own_threads_senders_are_ours),
        cmocka_unit_test(test_own_threads_more_than_can_be_told_apart),
        cmocka_unit_test(test_departure_groups_have_what_they_used),
        cmocka_unit_test(test_departure_groups_never_fall),
    };
    return RUN("engine/target/targets", tests);
}
