/* SPDX-License-Identifier: MIT */
#include "source/machine/space.h"

#include "fake_statvfs.h"

struct fixture {
    struct space_asker asker;
    pid_t pids[SPACE_HELPERS + 1];
    unsigned count;
};

static void remember(void *arg, pid_t pid)
{
    struct fixture *f = arg;
    assert_true(f->count < SPACE_HELPERS);
    f->pids[f->count++] = pid;
}

static void set_up(struct fixture *f)
{
    *f = (struct fixture){0};
    space_asker_init(&f->asker, fake_statvfs);
    assert_true(f->asker.deadline_ns == 2 * NS_PER_SECOND);
    f->asker.own_child = remember;
    f->asker.arg = f;
}

static void tear_down(struct fixture *f)
{
    space_asker_done(&f->asker);
    for (unsigned i = 0; i < f->count; i++)
        reap_helper(f->pids[i]);
}

/* Takes answers, in the same nanosecond, until the question has one. */
static void await(struct fixture *f, const struct space_question *q, uint64_t now_ns)
{
    for (unsigned i = 0; i < 10000 && q->helper; i++) {
        space_asker_take(&f->asker, now_ns);
        usleep(1000);
    }
    assert_null(q->helper);
}

static void test_nothing_to_ask(void **state)
{
    struct fixture f;
    set_up(&f);
    space_asker_round(&f.asker, 1);
    assert_int_equal(f.count, 0);
    tear_down(&f);
}

static void test_answers(void **state)
{
    struct fixture f;
    set_up(&f);
    struct space_question good = {.path = "/good"}, denied = {.path = "/denied"};
    space_asker_open(&f.asker, &good, true);
    space_asker_open(&f.asker, &denied, true);
    space_asker_open(&f.asker, &good, true); /* twice is once */
    space_asker_round(&f.asker, 1);
    assert_false(good.has_answer);
    await(&f, &good, 2);
    await(&f, &denied, 2);
    assert_true(good.has_answer && good.error == 0 && good.space.blocks == 1000);
    assert_true(denied.has_answer && denied.error == -EACCES);
    /* The last answer holds while the next is on its way. */
    space_asker_round(&f.asker, 1000);
    assert_true(good.has_answer);
    await(&f, &good, 1001);
    /* No longer asked. */
    space_asker_open(&f.asker, &good, false);
    uint64_t serial = good.serial;
    space_asker_round(&f.asker, 2000);
    assert_true(good.serial == serial);
    assert_int_equal(f.count, 1);
    tear_down(&f);
}

static void test_one_hangs(void **state)
{
    struct fixture f;
    set_up(&f);
    struct space_question good = {.path = "/good"}, hangs = {.path = "/hangs"};
    space_asker_open(&f.asker, &good, true);
    space_asker_open(&f.asker, &hangs, true); /* asked first */
    space_asker_round(&f.asker, NS_PER_SECOND);
    assert_true(hangs.serial < good.serial);
    space_asker_round(&f.asker, 3 * NS_PER_SECOND);
    assert_false(hangs.is_late || good.is_late); /* not yet */
    space_asker_round(&f.asker, 3 * NS_PER_SECOND + 1);
    assert_true(hangs.is_late && !hangs.has_answer);
    assert_false(good.is_late);
    assert_int_equal(f.count, 2); /* another helper has got the good one */
    await(&f, &good, 3 * NS_PER_SECOND + 2);
    assert_true(good.has_answer);
    for (uint64_t s = 6; s < 30; s += 3) {
        space_asker_round(&f.asker, s * NS_PER_SECOND);
        await(&f, &good, s * NS_PER_SECOND + 1);
        assert_true(hangs.is_late && good.has_answer);
    }
    assert_int_equal(f.count, 2); /* the late one is not asked again */
    tear_down(&f);
}

static void test_many_hang(void **state)
{
    struct fixture f;
    set_up(&f);
    struct space_question hangs[6] = {{.path = "/hang0"}, {.path = "/hang1"}, {.path = "/hang2"},
                                      {.path = "/hang3"}, {.path = "/hang4"}, {.path = "/hang5"}};
    for (size_t i = 0; i < ARRAY_LEN(hangs); i++)
        space_asker_open(&f.asker, &hangs[i], true);
    for (uint64_t s = 1; s < 60; s++)
        space_asker_round(&f.asker, s * NS_PER_SECOND);
    unsigned late = 0;
    for (size_t i = 0; i < ARRAY_LEN(hangs); i++) {
        late += hangs[i].is_late;
        assert_false(hangs[i].has_answer);
    }
    assert_int_equal(f.count, SPACE_HELPERS);
    assert_int_equal(late, SPACE_HELPERS);
    tear_down(&f);
}

/* Started anew, but not for ever. */
static void test_helpers_die(void **state)
{
    struct fixture f;
    set_up(&f);
    struct space_question good = {.path = "/good"}, deadly = {.path = "/deadly"};
    space_asker_open(&f.asker, &good, true);
    space_asker_round(&f.asker, 1);
    await(&f, &good, 2);
    assert_true(good.has_answer);
    space_asker_open(&f.asker, &deadly, true);
    for (unsigned i = 0; i < SPACE_HELPERS; i++) {
        assert_int_equal(f.count, i + (i == 0));
        space_asker_round(&f.asker, 10 + i);
        await(&f, &deadly, 10 + i);
        assert_false(deadly.has_answer);
    }
    space_asker_round(&f.asker, 100);
    space_asker_round(&f.asker, 101);
    assert_int_equal(f.count, SPACE_HELPERS);
    assert_false(good.has_answer || deadly.has_answer || deadly.is_late);
    tear_down(&f);
}

static void test_one_that_was_killed(void **state)
{
    struct fixture f;
    set_up(&f);
    struct space_question q = {.path = "/hang"};
    space_asker_open(&f.asker, &q, true);
    space_asker_round(&f.asker, 1);
    kill(f.pids[0], SIGKILL);
    await(&f, &q, 2);
    /* The pid may be anybody's from here on; the end must not kill it. */
    q.path = "/good";
    space_asker_round(&f.asker, 3);
    await(&f, &q, 4);
    assert_true(q.has_answer);
    assert_int_equal(f.count, 2);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_ask), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_one_hangs),      cmocka_unit_test(test_many_hang),
        cmocka_unit_test(test_helpers_die),    cmocka_unit_test(test_one_that_was_killed),
    };
    return RUN("space_asker", tests);
}
