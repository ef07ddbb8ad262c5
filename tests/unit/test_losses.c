/* SPDX-License-Identifier: MIT
 * A small family: main (1) started by the tracker, its child (2), whose children are 3 and 4. What
 * a real world makes of it is tested with the ledger. */
#include "account/members.h"

#include "proc_tree.h"

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

static struct member *add(struct family *f, pid_t pid, pid_t parent, uint64_t faults, uint64_t cpu)
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
        .has_all_orphans = true,
        .ns_per_tick = TICK,
        .round = 1,
        .read = read_now,
        .context = f,
    };
    add(f, MAIN, TRACKER, 100, TICK);
    add(f, PARENT, MAIN, 100, TICK);
    add(f, CHILD, PARENT, 50, 5 * TICK);
    add(f, SIBLING, PARENT, 70, 20 * TICK);
}

static struct member *gone(struct family *f, pid_t pid)
{
    struct member *m = members_find_any(&f->members, pid);
    m->gone = true;
    return m;
}

static enum loss judge(struct family *f, pid_t pid, pid_t expected_ancestor)
{
    struct member *ancestor = NULL;
    enum loss loss = losses_judge(&f->losses, gone(f, pid), &ancestor);
    if (loss != LOSS_NOT_SEEN)
        assert_int_equal(ancestor->process.entity.pid, expected_ancestor);
    return loss;
}

/* One fault less than the child was seen with: it was not reaped, whatever else was. */
static void test_faults_are_proof(void **state)
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
static void test_cpu_time_is_proof_beyond_rounding(void **state)
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
static void test_only_what_came_since(void **state)
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
static void test_one_of_two(void **state)
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
static void test_through_those_that_left_with_it(void **state)
{
    struct family f;
    begin(&f);
    gone(&f, PARENT);
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
static void test_orphans(void **state)
{
    struct family f;
    begin(&f);
    f.has_ended[PARENT] = true;
    assert_int_equal(judge(&f, CHILD, PARENT), LOSS_OF_THIS); /* nothing came anywhere */
    f.losses.round++;
    f.now[MAIN].faults = 50;
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

static void test_what_cannot_be_known(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_are_proof),
        cmocka_unit_test(test_cpu_time_is_proof_beyond_rounding),
        cmocka_unit_test(test_only_what_came_since),
        cmocka_unit_test(test_one_of_two),
        cmocka_unit_test(test_through_those_that_left_with_it),
        cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_what_cannot_be_known),
    };
    return RUN("losses", tests);
}
