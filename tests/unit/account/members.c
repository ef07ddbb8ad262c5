/* SPDX-License-Identifier: MIT */
#include "account/members.h"
#include "account/ledger.h"
#include "account/quality.h"
#include "proc_tree.h"
#include "unit.h"

/* ---- members -------------------------------------------------------------------------------- */

static void test_members_add_and_find(void **state)
{
    struct members m;
    members_init(&m, sizeof(uint64_t));
    assert_null(members_find(&m, 7));
    struct member *seven = members_add(&m, 7);
    struct member *nine = members_add(&m, 9);
    assert_non_null(seven);
    assert_ptr_equal(members_find(&m, 7), seven);
    assert_ptr_equal(members_find(&m, 9), nine);
    assert_null(members_find(&m, 8));
    assert_int_equal(seven->process.entity.pid, 7);
    assert_int_equal(seven->process.entity.kind, ENTITY_PROCESS);
    assert_true(seven->process.own.present == 0);
    assert_int_equal(*(uint64_t *)(void *)seven->payload, 0);
    assert_true((uintptr_t)seven->payload % _Alignof(max_align_t) == 0);
    members_done(&m);
    members_done(&m);
}

static void test_members_gone_is_not_found(void **state)
{
    struct members m;
    members_init(&m, 0);
    struct member *seven = members_add(&m, 7);
    seven->gone = true;
    assert_null(members_find(&m, 7));
    assert_int_equal(m.count, 1); /* still in the order: the walk goes on */
    members_sweep(&m);
    assert_int_equal(m.count, 0);
    assert_null(members_find(&m, 7));
    members_done(&m);
}

/* The pid is somebody else's before the old member was swept out. */
static void test_members_reused_pid(void **state)
{
    struct members m;
    members_init(&m, 0);
    struct member *old = members_add(&m, 7);
    old->process.entity.start_ticks = 1;
    old->gone = true;
    struct member *new = members_add(&m, 7);
    assert_ptr_not_equal(old, new);
    assert_ptr_equal(members_find(&m, 7), new);
    assert_int_equal(old->process.entity.start_ticks, 1);
    members_sweep(&m);
    assert_int_equal(m.count, 1);
    assert_ptr_equal(m.order[0], new);
    assert_ptr_equal(members_find(&m, 7), new);
    members_done(&m);
}

/* Thrice in one walk, and all leave again. */
static void test_members_reused_pid_again_and_again(void **state)
{
    struct members m;
    members_init(&m, 0);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 3; i++)
            members_add(&m, 7)->gone = true;
        if (round % 2)
            members_add(&m, 7);
        members_sweep(&m);
        assert_int_equal(m.count, round % 2);
        assert_int_equal(members_find(&m, 7) != NULL, round % 2);
        if (round % 2)
            m.order[0]->gone = true;
        members_sweep(&m);
    }
    assert_true(m.slot_count <= 4);
    members_done(&m);
}

static void test_members_used_again_is_like_new(void **state)
{
    struct members m;
    members_init(&m, 32);
    struct member *one = members_add(&m, 1);
    one->main_of = one->was_seen = one->gone = one->in_books = one->loss_noted = true;
    one->vanished_ns = one->seen_peak_bytes = one->slow_pass = 5;
    one->process.state = 'R';
    row_put_u64(&one->process.own, process_cpu_seconds, 5);
    memset(one->payload, UNTOUCHED, 32);
    members_sweep(&m);
    struct member *two = members_add(&m, 2);
    assert_ptr_equal(one, two); /* no malloc in a steady state */
    assert_false(two->main_of || two->was_seen || two->gone || two->in_books);
    assert_false(two->loss_noted);
    assert_true(two->vanished_ns == 0 && two->seen_peak_bytes == 0 && two->slow_pass == 0);
    assert_true(two->process.own.present == 0 && two->process.state == 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(two->payload[i], 0);
    members_done(&m);
}

enum { PIDS = 300, STEPS = 20000 };

/* A plain model: a list in order of arrival. */
struct model {
    struct {
        pid_t pid;
        uint64_t mark;
        bool gone;
    } list[STEPS];
    size_t count;
};

static void check_all(const struct members *m, const struct model *model)
{
    assert_int_equal(m->count, model->count);
    const struct member *expected[PIDS + 1] = {0};
    for (size_t i = 0; i < model->count; i++) {
        assert_int_equal(m->order[i]->process.entity.pid, model->list[i].pid);
        assert_int_equal(m->order[i]->seen_peak_bytes, model->list[i].mark);
        assert_int_equal(m->order[i]->gone, model->list[i].gone);
        if (!model->list[i].gone)
            expected[model->list[i].pid] = m->order[i];
    }
    for (pid_t pid = 1; pid <= PIDS; pid++)
        assert_ptr_equal(members_find(m, pid), expected[pid]);
}

static void run_random(uint64_t seed)
{
    static struct model model;
    struct members m;
    members_init(&m, 16);
    model.count = 0;
    for (uint64_t step = 1; step < STEPS; step++) {
        pid_t pid = (pid_t)random_below(&seed, PIDS) + 1;
        uint64_t what = random_below(&seed, 100);
        if (what < 45 && !members_find(&m, pid)) {
            members_add(&m, pid)->seen_peak_bytes = step;
            model.list[model.count].pid = pid;
            model.list[model.count].mark = step;
            model.list[model.count++].gone = false;
        } else if (what < 95) {
            struct member *found = members_find(&m, pid);
            if (found)
                found->gone = true;
            for (size_t i = 0; found && i < model.count; i++)
                if (model.list[i].mark == found->seen_peak_bytes)
                    model.list[i].gone = true;
        } else {
            members_sweep(&m);
            size_t kept = 0;
            for (size_t i = 0; i < model.count; i++)
                if (!model.list[i].gone)
                    model.list[kept++] = model.list[i];
            model.count = kept;
        }
        if (step % 97 == 0)
            check_all(&m, &model);
    }
    check_all(&m, &model);
    assert_true(m.slot_count < 2 * PIDS);
    members_done(&m);
}

static void test_members_random(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        run_random(seed);
}

static void test_members_sort(void **state)
{
    struct members m;
    members_init(&m, 0);
    static const uint64_t born[] = {30, 10, 20, 10, 40};
    for (int i = 0; i < 5; i++)
        members_add(&m, 100 + i)->process.entity.start_ticks = born[i];
    members_sort(&m);
    static const pid_t sorted[] = {101, 103, 102, 100, 104}; /* equal ones stay as they were */
    for (int i = 0; i < 5; i++)
        assert_int_equal(m.order[i]->process.entity.pid, sorted[i]);
    assert_ptr_equal(members_find(&m, 100), m.order[3]);
    members_done(&m);
}

/* ---- subtree -------------------------------------------------------------------------------- */

static struct member *subtree_add(struct members *m, pid_t pid, pid_t parent, uint64_t cpu,
                                  uint64_t rss)
{
    struct member *one = members_add(m, pid);
    assert_non_null(one);
    one->was_seen = true;
    one->targets = 1;
    one->process.entity.parent = parent;
    row_init(&one->process.own, ENTITY_PROCESS);
    row_put_u64(&one->process.own, process_cpu_seconds, cpu);
    row_put_u64(&one->process.own, process_memory_rss_bytes, rss);
    return one;
}

static void test_subtree_sum(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    subtree_add(&m, 1, 0, 1000, 100);
    struct member *two = subtree_add(&m, 2, 1, 10, 20);
    subtree_add(&m, 3, 2, 1, 2);
    struct member *other = subtree_add(&m, 4, 1, 500, 50);
    inherited_put(&two->process.inherited, process_cpu_seconds, 7); /* of a child it has reaped */
    assert_true(subtree_sum(&m, 2, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 18);
    assert_int_equal(row_u64(&row, process_memory_rss_bytes), 22);
    assert_int_equal(row_u64(&row, process_processes_count), 2);
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 1518);
    other->targets = 0; /* only watched */
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 1018);
    assert_false(subtree_sum(&m, 9, 0, &row));
    two->gone = true;
    assert_false(subtree_sum(&m, 2, 0, &row));
    members_done(&m);
}

/* A sum that leaves somebody out is not a sum. */
static void test_subtree_unknown(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    struct member *one = subtree_add(&m, 1, 0, 5, 100);
    struct member *two = subtree_add(&m, 2, 1, 5, 100);
    row_put_u64(&one->process.own, process_open_files_count, 3);
    row_put_u64(&one->process.own, process_memory_pss_bytes, 50);
    row_put_u64(&two->process.own, process_memory_pss_bytes, 60);
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_false(row_has(&row, process_open_files_count));
    assert_false(row_has(&row, process_memory_pss_bytes)); /* not read in this look */
    assert_true(subtree_sum(&m, 1, BIT(process_memory_pss_bytes), &row));
    assert_int_equal(row_u64(&row, process_memory_pss_bytes), 110);
    two->process.denied = BIT(process_open_files_count); /* left out, as everywhere */
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_false(row_has(&row, process_open_files_count));
    assert_true(row.at_least == BIT(process_open_files_count));
    assert_int_equal(row_value(&row, process_open_files_count).u, 3);
    one->process.has_ended = two->process.has_ended = true;
    assert_true(subtree_sum(&m, 1, 0, &row));
    assert_false(row_has(&row, process_memory_rss_bytes));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 10);
    members_done(&m);
}

/* Parents that were read at different times. */
static void test_subtree_circle(void **state)
{
    struct members m;
    struct row row;
    members_init(&m, 0);
    subtree_add(&m, 1, 2, 5, 0);
    subtree_add(&m, 2, 1, 5, 0);
    subtree_add(&m, 3, 0, 5, 0);
    assert_true(subtree_sum(&m, 3, 0, &row));
    assert_int_equal(row_u64(&row, process_cpu_seconds), 5);
    members_done(&m);
}

/* ---- losses --------------------------------------------------------------------------------- */

/* A small family: main (1) started by the tracker, its child (2), whose children are 3 and 4. What
 * a real world makes of it is tested with the ledger. */

#define TICK (10 * NS_PER_MS)

enum { TRACKER = 1, MAIN = 10, PARENT = 20, CHILD = 30, SIBLING = 40 };

struct family {
    struct members members;
    struct losses losses;
    struct handed_on now[SIBLING + 1]; /* what a look at each finds inherited */
    bool has_ended[SIBLING + 1];
    bool cannot_be_read[SIBLING + 1];
    unsigned reads;
};

static bool read_now(void *context, struct member *m, struct handed_on *ret, bool *ret_has_ended)
{
    struct family *f = context;
    pid_t pid = m->process.entity.pid;
    f->reads++;
    *ret = f->now[pid];
    *ret_has_ended = f->has_ended[pid];
    return !f->cannot_be_read[pid];
}

static struct member *losses_add(struct family *f, pid_t pid, pid_t parent, uint64_t faults,
                                 uint64_t cpu)
{
    struct member *m = members_add(&f->members, pid);
    m->was_seen = true;
    m->process.entity.parent = parent;
    m->process.entity.start_ticks = (uint64_t)pid;
    row_put_u64(&m->process.own, process_faults_minor_count, faults);
    row_put_u64(&m->process.own, process_cpu_seconds, cpu);
    losses_before_look(m);
    return m;
}

static void begin(struct family *f)
{
    *f = (struct family){0};
    members_init(&f->members, 0);
    f->losses = (struct losses){
        .members = &f->members,
        .tracker = TRACKER,
        .has_all_orphans = true,
        .ns_per_tick = TICK,
        .round = 1,
        .read = read_now,
        .context = f,
    };
    losses_add(f, MAIN, TRACKER, 100, TICK);
    losses_add(f, PARENT, MAIN, 100, TICK);
    losses_add(f, CHILD, PARENT, 50, 5 * TICK);
    losses_add(f, SIBLING, PARENT, 70, 20 * TICK);
}

static struct member *losses_gone(struct family *f, pid_t pid)
{
    struct member *m = members_find_any(&f->members, pid);
    m->gone = true;
    return m;
}

static enum loss judge(struct family *f, pid_t pid, pid_t expected_ancestor)
{
    struct member *ancestor = NULL;
    enum loss loss = losses_judge(&f->losses, losses_gone(f, pid), &ancestor);
    if (loss != LOSS_NOT_SEEN)
        assert_int_equal(ancestor->process.entity.pid, expected_ancestor);
    return loss;
}

/* One fault less than the child was seen with: it was not reaped, whatever else was. */
static void test_losses_faults_are_proof(void **state)
{
    struct family f;
    begin(&f);
    f.now[PARENT] = (struct handed_on){.faults = 49, .cpu_ns = 5 * TICK};
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS);
    f.losses.round++;
    f.now[PARENT].faults = 50;
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_NOT_SEEN);
    members_done(&f.members);
}

/* Of a child whose faults came with others', the CPU time is missing. */
static void test_losses_cpu_time_is_proof_beyond_rounding(void **state)
{
    struct family f;
    begin(&f);
    f.now[PARENT] = (struct handed_on){.faults = 1000, .cpu_ns = 16 * TICK};
    assert_int_equal(judge(&f, SIBLING, PARENT), LOSS_NOT_SEEN);
    f.losses.round++;
    f.now[PARENT].cpu_ns = 15 * TICK;
    assert_int_equal(judge(&f, SIBLING, PARENT), LOSS_OF_THIS);
    members_done(&f.members);
}

/* What the parent had inherited when the child was last seen is not the child's. */
static void test_losses_only_what_came_since(void **state)
{
    struct family f;
    begin(&f);
    struct member *parent = members_find(&f.members, PARENT);
    inherited_put(&parent->process.inherited, process_faults_minor_count, 5000);
    losses_before_look(parent);
    inherited_put(&parent->process.inherited, process_faults_minor_count, 5049);
    f.now[PARENT].faults = 5049;
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS);
    members_done(&f.members);
}

/* Each could have arrived, not both: which one did is not known. */
static void test_losses_one_of_two(void **state)
{
    struct family f;
    begin(&f);
    f.now[PARENT] = (struct handed_on){.faults = 80, .cpu_ns = 25 * TICK};
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_NOT_SEEN);
    assert_int_equal(judge(&f, SIBLING, PARENT), LOSS_OF_SOME);
    assert_int_equal(f.reads, 1);
    members_done(&f.members);
}

/* The init of a pid namespace and all below it left together: its parent has inherited the init. */
static void test_losses_through_those_that_left_with_it(void **state)
{
    struct family f;
    begin(&f);
    losses_gone(&f, PARENT);
    f.now[MAIN].faults = 130; /* 100 of the parent, 30 it made after it was seen */
    assert_int_equal(judge(&f, CHILD, MAIN), LOSS_OF_THIS);
    assert_int_equal(judge(&f, SIBLING, MAIN), LOSS_OF_THIS);
    assert_int_equal(judge(&f, PARENT, MAIN), LOSS_NOT_SEEN);
    f.losses.round++;
    f.now[MAIN] = (struct handed_on){.faults = 220, .cpu_ns = 26 * TICK};
    assert_int_equal(judge(&f, CHILD, MAIN), LOSS_NOT_SEEN);
    assert_int_equal(judge(&f, SIBLING, MAIN), LOSS_NOT_SEEN);
    assert_int_equal(judge(&f, PARENT, MAIN), LOSS_NOT_SEEN);
    members_done(&f.members);
}

/* An orphan may have gone to a subreaper above, which has inherited something; but not out of its
 * pid namespace. */
static void test_losses_orphans(void **state)
{
    struct family f;
    begin(&f);
    f.has_ended[PARENT] = true;
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS); /* nothing came anywhere */
    f.losses.round++;
    f.now[MAIN] = (struct handed_on){.faults = 49, .cpu_ns = TICK};
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS); /* less than it had */
    f.losses.round++;
    f.now[MAIN] = (struct handed_on){.faults = 50, .cpu_ns = 5 * TICK};
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_NOT_SEEN);
    f.losses.round++;
    members_find(&f.members, PARENT)->process.is_namespace_init = true;
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS);
    f.losses.round++;
    f.losses.has_all_orphans = false; /* attached: it may have gone outside */
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_NOT_SEEN);
    f.losses.round++;
    f.has_ended[PARENT] = false;
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS);
    members_done(&f.members);
}

/* The parent ended, the subreaper above it reaped the child, ended and was reaped by the tracker,
 * whose child the parent is now: the tracker has the figures, which no other process shows. */
static void test_losses_with_a_subreaper_that_left(void **state)
{
    struct family f;
    begin(&f);
    f.has_ended[PARENT] = true;
    losses_gone(&f, MAIN);
    members_sweep(&f.members);
    members_find(&f.members, PARENT)->process.entity.parent = TRACKER;
    assert_int_equal(judge(&f, CHILD, 0), LOSS_NOT_SEEN);
    f.losses.round++;
    losses_before_look(members_find(&f.members, PARENT)); /* one walk later nobody else could */
    assert_int_equal(judge(&f, SIBLING, PARENT), LOSS_OF_THIS);
    members_done(&f.members);
}

/* What has left through the topmost one is the tracker's, whether that was reaped or not. */
static void test_losses_with_nobody_left_above(void **state)
{
    struct family f;
    begin(&f);
    losses_gone(&f, PARENT);
    losses_gone(&f, MAIN);
    assert_int_equal(judge(&f, CHILD, 0), LOSS_NOT_SEEN);
    members_done(&f.members);
}

/* The parent was discarded, and its child came to the one above it: one of the two is missing, but
 * which is not known, and the child must not count twice. */
static void test_losses_of_a_parent_are_not_its_childs(void **state)
{
    struct family f;
    begin(&f);
    losses_gone(&f, PARENT);
    f.now[MAIN] = (struct handed_on){.faults = 50, .cpu_ns = 5 * TICK};
    assert_int_equal(judge(&f, CHILD, MAIN), LOSS_OF_SOME);
    assert_int_equal(judge(&f, PARENT, MAIN), LOSS_OF_THIS);
    /* In a namespace that the parent was the init of, it could not have come without it. */
    f.losses.round++;
    members_find_any(&f.members, PARENT)->process.is_namespace_init = true;
    assert_int_equal(judge(&f, CHILD, MAIN), LOSS_OF_THIS);
    members_done(&f.members);
}

/* The parent came into a pid namespace from outside: its child went to the init of it. */
static void test_losses_with_a_parent_that_entered_a_namespace(void **state)
{
    struct family f;
    begin(&f);
    losses_gone(&f, PARENT);
    members_find_any(&f.members, PARENT)->process.pid_namespaces = 2;
    members_find(&f.members, MAIN)->process.pid_namespaces = 1;
    f.now[MAIN] = (struct handed_on){.faults = 100, .cpu_ns = TICK}; /* only of the parent */
    assert_int_equal(judge(&f, SIBLING, 0), LOSS_NOT_SEEN);
    members_find_any(&f.members, PARENT)->process.is_namespace_init = true;
    assert_int_equal(judge(&f, SIBLING, MAIN), LOSS_OF_THIS);
    members_done(&f.members);
}

/* Without a page fault, where it went does not show. */
static void test_losses_of_an_orphan_without_faults(void **state)
{
    struct family f;
    begin(&f);
    losses_gone(&f, PARENT);
    f.now[MAIN] = (struct handed_on){.faults = 99, .cpu_ns = 6 * TICK};
    struct member *child = members_find(&f.members, CHILD);
    assert_int_equal(judge(&f, CHILD, MAIN), LOSS_OF_SOME);
    f.losses.round++;
    row_put_u64(&child->process.own, process_faults_minor_count, 0);
    assert_int_equal(judge(&f, CHILD, 0), LOSS_NOT_SEEN);
    members_done(&f.members);
}

static void test_losses_what_cannot_be_known(void **state)
{
    struct family f;
    begin(&f);
    assert_int_equal(judge(&f, MAIN, 0), LOSS_NOT_SEEN); /* its parent is not a member */
    f.cannot_be_read[PARENT] = true;
    assert_int_equal(judge(&f, CHILD, 0), LOSS_NOT_SEEN);
    f.losses.round++;
    f.cannot_be_read[PARENT] = false;
    members_find(&f.members, PARENT)->process.entity.start_ticks = CHILD + 1; /* a pid used again */
    assert_int_equal(judge(&f, CHILD, 0), LOSS_NOT_SEEN);
    members_done(&f.members);
}

/* ---- ladder --------------------------------------------------------------------------------- */

static struct row full_row(void)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        row_put_u64(&row, id, id + 1);
    return row;
}

static void test_ladder_best_rung_that_knows(void **state)
{
    struct row good, poor;
    row_init(&good, ENTITY_PROCESS);
    row_init(&poor, ENTITY_PROCESS);
    row_put_u64(&good, process_cpu_seconds, 10);
    row_put_u64(&poor, process_cpu_seconds, 8);
    row_put_u64(&poor, process_io_read_bytes, 5);
    const struct figure_source sources[] = {
        {"good", &good, ~UINT64_C(0), QUALITY_EXACT, BIT(process_faults_minor_count)},
        {"poor", &poor, ~UINT64_C(0), QUALITY_SAMPLED, BIT(process_io_read_bytes)},
    };
    union value value = {.u = 77};
    struct provenance v = quality_pick(sources, 2, process_cpu_seconds, &value);
    assert_int_equal(v.quality, QUALITY_EXACT);
    assert_string_equal(v.source, "good");
    assert_int_equal(value.u, 10);
    v = quality_pick(sources, 2, process_io_read_bytes, &value);
    assert_int_equal(v.quality, QUALITY_LOWER_BOUND);
    assert_string_equal(v.source, "poor");
    assert_int_equal(value.u, 5);
    value.u = 77;
    v = quality_pick(sources, 2, process_faults_minor_count, &value);
    assert_int_equal(v.quality, QUALITY_UNKNOWN);
    assert_string_equal(v.source, "");
    assert_int_equal(value.u, 77);
    v = quality_pick(sources, 0, process_cpu_seconds, &value);
    assert_int_equal(v.quality, QUALITY_UNKNOWN);
}

static void test_ladder_a_rung_answers_only_for_its_own(void **state)
{
    struct row row = full_row();
    const struct figure_source sources[] = {
        {"narrow", &row, BIT(process_cpu_seconds), QUALITY_EXACT, 0},
        {"wide", &row, ~UINT64_C(0), QUALITY_SAMPLED, 0},
    };
    union value value;
    assert_string_equal(quality_pick(sources, 2, process_cpu_seconds, &value).source, "narrow");
    assert_string_equal(quality_pick(sources, 2, process_faults_minor_count, &value).source,
                        "wide");
}

static enum quality quality_of(enum part part, bool own_only, struct evidence e, enum metric_id id)
{
    struct row row = full_row();
    struct figure_source sources[QUALITY_SOURCES_AT_MOST];
    size_t count = quality_sources(sources, part, own_only, &row, &e);
    assert_true(count <= QUALITY_SOURCES_AT_MOST);
    union value value;
    struct provenance v = quality_pick(sources, count, id, &value);
    assert_true(*v.source);
    assert_int_equal(value.u, id + 1);
    return v.quality;
}

static void test_ladder_all_reaped(void **state)
{
    struct evidence e = {.all_reaped = true, .peak_is_exact = true};
#define Q(id) quality_of(PART_COMBINED, false, e, id)
    assert_int_equal(Q(process_wall_seconds), QUALITY_EXACT);
    assert_int_equal(Q(process_cpu_seconds), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_switches_voluntary_count), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_storage_written_bytes), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_memory_peak_bytes), QUALITY_EXACT_IF_REAPED);
    assert_int_equal(Q(process_memory_rss_bytes), QUALITY_SAMPLED);
    assert_int_equal(Q(process_cpu_wait_seconds), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_processes_started_count), QUALITY_LOWER_BOUND);
    e.peak_is_exact = false;
    assert_int_equal(Q(process_memory_peak_bytes), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_cpu_seconds), QUALITY_EXACT_IF_REAPED);
}

static void test_ladder_losses(void **state)
{
    struct evidence e = {.all_reaped = true, .peak_is_exact = true, .auto_reaping = true};
    assert_int_equal(Q(process_cpu_seconds), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_io_read_bytes), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_wall_seconds), QUALITY_EXACT);
    assert_int_equal(Q(process_memory_rss_bytes), QUALITY_SAMPLED);
    e.all_reaped = false;
    assert_int_equal(Q(process_cpu_seconds), QUALITY_LOWER_BOUND);
    assert_int_equal(Q(process_io_read_bytes), QUALITY_LOWER_BOUND);
}

static void test_ladder_survivors(void **state)
{
    struct evidence e = {.denied[PART_COMBINED] = BIT(process_io_read_bytes)};
    assert_int_equal(Q(process_cpu_seconds), QUALITY_SAMPLED);
    assert_int_equal(Q(process_io_written_bytes), QUALITY_SAMPLED);
    assert_int_equal(Q(process_io_read_bytes), QUALITY_LOWER_BOUND); /* somebody hides his */
    assert_int_equal(Q(process_switches_voluntary_count), QUALITY_LOWER_BOUND);
#undef Q
}

/* One process: what was read of it after its end cannot change any more. */
static void test_ladder_main(void **state)
{
    struct evidence e = {
        .all_reaped = true, .auto_reaping = true, .main_at_end = BIT(process_cpu_seconds)};
    for (int own_only = 0; own_only < 2; own_only++) {
        enum part part = own_only ? PART_COMBINED : PART_MAIN;
        assert_int_equal(quality_of(part, own_only, e, process_cpu_seconds), QUALITY_EXACT);
        /* Not read after its end: more may have come. */
        assert_int_equal(quality_of(part, own_only, e, process_io_read_bytes), QUALITY_LOWER_BOUND);
        assert_int_equal(quality_of(part, own_only, e, process_processes_started_count),
                         QUALITY_EXACT);
    }
}

/* Whatever the evidence, nothing missing is called exact. */
static void test_ladder_never_better_than_the_evidence(void **state)
{
    for (unsigned bits = 0; bits < 8; bits++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++) {
            struct evidence e = {.all_reaped = bits & 1,
                                 .auto_reaping = bits & 2,
                                 .peak_is_exact = bits & 4,
                                 .denied[PART_COMBINED] = BIT(id)};
            enum quality q = quality_of(PART_COMBINED, false, e, id);
            assert_true(q != QUALITY_UNKNOWN);
            if (id != process_wall_seconds)
                assert_true(q < QUALITY_EXACT);
            if (!e.all_reaped && id != process_wall_seconds)
                assert_int_equal(q, QUALITY_LOWER_BOUND);
        }
}

static void test_ladder_difference(void **state)
{
    struct provenance good = {QUALITY_EXACT, "a"}, poor = {QUALITY_SAMPLED, "b"};
    struct provenance bound = {QUALITY_LOWER_BOUND, "c"}, none = {QUALITY_UNKNOWN, ""};
    assert_int_equal(quality_of_difference(good, good, false).quality, QUALITY_EXACT);
    assert_string_equal(quality_of_difference(good, poor, false).source, "b");
    assert_string_equal(quality_of_difference(poor, good, false).source, "b");
    assert_int_equal(quality_of_difference(bound, good, false).quality, QUALITY_LOWER_BOUND);
    /* Too little taken away is no bound from below. */
    assert_int_equal(quality_of_difference(good, bound, false).quality, QUALITY_SAMPLED);
    assert_int_equal(quality_of_difference(bound, bound, false).quality, QUALITY_SAMPLED);
    /* The figures of the others, of which some are missing. */
    assert_int_equal(quality_of_difference(bound, bound, true).quality, QUALITY_LOWER_BOUND);
    assert_int_equal(quality_of_difference(bound, good, true).quality, QUALITY_LOWER_BOUND);
    assert_int_equal(quality_of_difference(bound, none, true).quality, QUALITY_UNKNOWN);
    assert_int_equal(quality_of_difference(good, bound, true).quality, QUALITY_SAMPLED);
    assert_int_equal(quality_of_difference(good, good, true).quality, QUALITY_EXACT);
    assert_int_equal(quality_of_difference(none, bound, false).quality, QUALITY_UNKNOWN);
    assert_int_equal(quality_of_difference(good, none, false).quality, QUALITY_UNKNOWN);
}

/* ---- rates ---------------------------------------------------------------------------------- */

static double cores_after(struct rate *rates, uint64_t cpu_ns, uint64_t now_ns)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, cpu_ns);
    rates_put(rates, &row, ENTITY_PROCESS, now_ns, 2);
    return row_has(&row, process_cpu_cores) ? row_value(&row, process_cpu_cores).d : -1;
}

static void test_rates_from_zero(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    rates_begin(rates, 100);
    assert_true(cores_after(rates, NS_PER_SECOND, 100 + NS_PER_SECOND / 2) == 2);
    assert_true(cores_after(rates, NS_PER_SECOND, 100 + NS_PER_SECOND) == 0);
}

static void test_rates_first_value_has_no_rate(void **state)
{
    struct rate rates[RATES_PER_ENTITY] = {0};
    assert_true(cores_after(rates, 7 * NS_PER_SECOND, NS_PER_SECOND) == -1);
    assert_true(cores_after(rates, 8 * NS_PER_SECOND, 2 * NS_PER_SECOND) == 1);
    assert_true(cores_after(rates, 9 * NS_PER_SECOND, 2 * NS_PER_SECOND) == -1); /* no time */
}

/* A tick without the counter is bridged: the next rate is over both intervals. */
static void test_rates_unknown_is_bridged(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    rates_begin(rates, 0);
    assert_true(cores_after(rates, NS_PER_SECOND, NS_PER_SECOND) == 1);
    struct row nothing;
    row_init(&nothing, ENTITY_PROCESS);
    rates_put(rates, &nothing, ENTITY_PROCESS, 2 * NS_PER_SECOND, 0);
    assert_false(row_has(&nothing, process_cpu_cores));
    assert_true(cores_after(rates, 2 * NS_PER_SECOND, 3 * NS_PER_SECOND) == 0.5);
}

static void test_rates_two_rates_of_one_row(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_SYSTEM);
    row_put_u64(&row, system_cpu_seconds, 3 * NS_PER_SECOND);
    row_put_u64(&row, system_energy_joules, 30000000); /* held in millionths */
    rates_put(rates, &row, ENTITY_SYSTEM, 2 * NS_PER_SECOND, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 1.5);
    assert_true(row_value(&row, system_power_watts).d == 15);
}

/* Ticks of the kernel that come in one moment were not all used in it. */
static void test_rates_no_more_cores_than_cpus(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_SYSTEM);
    row_put_u64(&row, system_cpu_seconds, 100 * NS_PER_MS);
    row_put_u64(&row, system_cpus_online_count, 2);
    rates_put(rates, &row, ENTITY_SYSTEM, 40 * NS_PER_MS, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 2);
    rates_put(rates, &row, ENTITY_SYSTEM, 60 * NS_PER_MS, 0); /* the rest of it */
    assert_true(row_value(&row, system_cpu_cores).d == 1);
    rates_put(rates, &row, ENTITY_SYSTEM, 80 * NS_PER_MS, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 0);
}

/* A hundredth of a second is what the kernel counts in: a moment without one is not an idle one. */
static void test_rates_moments_of_the_machine_have_no_rate(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    struct row row;
    rates_begin(rates, 0);
    row_init(&row, ENTITY_SYSTEM);
    row_put_u64(&row, system_cpu_seconds, 0);
    row_put_u64(&row, system_cpus_online_count, 2);
    rates_put(rates, &row, ENTITY_SYSTEM, 8 * NS_PER_MS, 0);
    assert_false(row_has(&row, system_cpu_cores));
    row_put_u64(&row, system_cpu_seconds, 30 * NS_PER_MS);
    rates_put(rates, &row, ENTITY_SYSTEM, 20 * NS_PER_MS, 0);
    assert_true(row_value(&row, system_cpu_cores).d == 1.5); /* of all that time */
}

static void test_rates_what_was_too_much_comes_later(void **state)
{
    struct rate rates[RATES_PER_ENTITY];
    rates_begin(rates, 0);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, NS_PER_SECOND) == 2);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, 2 * NS_PER_SECOND) == 2);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, 3 * NS_PER_SECOND) == 1);
    assert_true(cores_after(rates, 5 * NS_PER_SECOND, 4 * NS_PER_SECOND) == 0);
}

/* ---- settle --------------------------------------------------------------------------------- */

static void read_disk(struct instance *m, uint64_t bytes, uint64_t active_ns, bool since_start,
                      uint64_t now_ns)
{
    row_init(&m->read, ENTITY_DISK);
    row_put_u64(&m->read, disk_read_bytes, bytes);
    row_put_u64(&m->read, disk_active_seconds, active_ns);
    row_put_u64(&m->read, disk_in_flight_count, 3);
    settle(m, since_start, now_ns);
}

static void test_settle_counts_from_the_first_reading(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    read_disk(&m, 1000, NS_PER_SECOND, false, NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 0);
    assert_int_equal(row_u64(&m.row, disk_in_flight_count), 3); /* not a counter */
    assert_false(row_has(&m.row, disk_busy_ratio));
    read_disk(&m, 1500, NS_PER_SECOND * 3 / 2, false, 2 * NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 500);
    assert_true(row_value(&m.row, disk_busy_ratio).d == 0.5);
}

static void test_settle_what_came_later_counts_from_zero(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    m.is_new = true;
    read_disk(&m, 1000, 0, false, NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 1000);
}

static void test_settle_since_start(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    read_disk(&m, 1000, 0, true, NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_read_bytes), 1000);
}

/* A figure that shows up late is new, not grown. */
static void test_settle_late_figure(void **state)
{
    struct instance m;
    instance_init(&m, ENTITY_DISK);
    read_disk(&m, 1000, 0, false, NS_PER_SECOND);
    row_put_u64(&m.read, disk_written_bytes, 77);
    settle(&m, false, 2 * NS_PER_SECOND);
    assert_int_equal(row_u64(&m.row, disk_written_bytes), 0);
    assert_true(row_has(&m.row, disk_written_bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_add_and_find),
        cmocka_unit_test(test_members_gone_is_not_found),
        cmocka_unit_test(test_members_reused_pid),
        cmocka_unit_test(test_members_reused_pid_again_and_again),
        cmocka_unit_test(test_members_used_again_is_like_new),
        cmocka_unit_test(test_members_random),
        cmocka_unit_test(test_members_sort),
        cmocka_unit_test(test_subtree_sum),
        cmocka_unit_test(test_subtree_unknown),
        cmocka_unit_test(test_subtree_circle),
        cmocka_unit_test(test_losses_faults_are_proof),
        cmocka_unit_test(test_losses_cpu_time_is_proof_beyond_rounding),
        cmocka_unit_test(test_losses_only_what_came_since),
        cmocka_unit_test(test_losses_one_of_two),
        cmocka_unit_test(test_losses_through_those_that_left_with_it),
        cmocka_unit_test(test_losses_orphans),
        cmocka_unit_test(test_losses_with_a_subreaper_that_left),
        cmocka_unit_test(test_losses_with_nobody_left_above),
        cmocka_unit_test(test_losses_of_a_parent_are_not_its_childs),
        cmocka_unit_test(test_losses_with_a_parent_that_entered_a_namespace),
        cmocka_unit_test(test_losses_of_an_orphan_without_faults),
        cmocka_unit_test(test_losses_what_cannot_be_known),
        cmocka_unit_test(test_ladder_best_rung_that_knows),
        cmocka_unit_test(test_ladder_a_rung_answers_only_for_its_own),
        cmocka_unit_test(test_ladder_all_reaped),
        cmocka_unit_test(test_ladder_losses),
        cmocka_unit_test(test_ladder_survivors),
        cmocka_unit_test(test_ladder_main),
        cmocka_unit_test(test_ladder_never_better_than_the_evidence),
        cmocka_unit_test(test_ladder_difference),
        cmocka_unit_test(test_rates_from_zero),
        cmocka_unit_test(test_rates_no_more_cores_than_cpus),
        cmocka_unit_test(test_rates_moments_of_the_machine_have_no_rate),
        cmocka_unit_test(test_rates_what_was_too_much_comes_later),
        cmocka_unit_test(test_rates_first_value_has_no_rate),
        cmocka_unit_test(test_rates_unknown_is_bridged),
        cmocka_unit_test(test_rates_two_rates_of_one_row),
        cmocka_unit_test(test_settle_counts_from_the_first_reading),
        cmocka_unit_test(test_settle_what_came_later_counts_from_zero),
        cmocka_unit_test(test_settle_since_start),
        cmocka_unit_test(test_settle_late_figure),
    };
    return RUN("account/members", tests);
}
