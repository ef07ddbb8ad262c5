/* SPDX-License-Identifier: MIT */
#include "account/members.h"

#include "unit.h"

static void test_add_and_find(void **state)
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

static void test_gone_is_not_found(void **state)
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
static void test_reused_pid(void **state)
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
static void test_reused_pid_again_and_again(void **state)
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

static void test_used_again_is_like_new(void **state)
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

static void test_random(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        run_random(seed);
}

static void test_sort(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_and_find),
        cmocka_unit_test(test_gone_is_not_found),
        cmocka_unit_test(test_reused_pid),
        cmocka_unit_test(test_reused_pid_again_and_again),
        cmocka_unit_test(test_used_again_is_like_new),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_sort),
    };
    return RUN("members", tests);
}
