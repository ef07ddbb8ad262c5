/* SPDX-License-Identifier: MIT */
#include "engine/target/targets.h"

#include "proc_tree.h"

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

static int add(struct toll_tracker *t, enum toll_target_kind kind, pid_t id, struct toll_error *e)
{
    return targets_add(
        t, &(struct toll_target){.size = sizeof(struct toll_target), .kind = kind, .id = id}, e);
}

static void test_one_is_the_whole(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(add(t, TOLL_TARGET_PROCESS, 5, NULL), 0);
    assert_int_equal(targets_open_books(t), 0);
    assert_ptr_equal(t->whole, &t->targets[0]);
    assert_int_equal(book_count(t), 1);
    assert_true(target_has_parts(t, t->whole));
    assert_ptr_equal(target_summary_of(t, t->whole), &t->summary.whole);
    toll_tracker_free(t);
}

static void test_several_have_a_union(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 5, NULL), 0);
    assert_int_equal(add(t, TOLL_TARGET_PROCESS, 6, NULL), 0);
    assert_int_equal(targets_open_books(t), 0);
    assert_int_equal(book_count(t), 3);
    assert_true(t->whole->is_union);
    assert_false(target_has_parts(t, t->whole));
    assert_false(target_has_parts(t, &t->targets[0]));
    assert_true(target_has_parts(t, &t->targets[1]));
    assert_int_equal(t->targets[0].bit | t->targets[1].bit | t->whole->bit, 7);
    toll_tracker_free(t);
}

static void test_63_and_no_more(void **state)
{
    struct toll_tracker *t = make();
    for (pid_t id = 1; id <= 63; id++)
        assert_int_equal(add(t, TOLL_TARGET_GROUP, id, NULL), 0);
    struct toll_error e = {0};
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 64, &e), -EINVAL);
    assert_non_null(strstr(e.message, "more than 63"));
    assert_int_equal(targets_open_books(t), 0);
    assert_true(t->whole->bit == UINT64_C(1) << 63);
    toll_tracker_free(t);
}

static void test_one_that_is_refused_leaves_nothing(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 5, NULL), 0);
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 5, NULL), -EINVAL); /* named twice */
    assert_int_equal(add(t, TOLL_TARGET_GROUP, -1, NULL), -EINVAL);
    assert_int_equal(add(t, TOLL_TARGET_USER, 0, NULL), -EINVAL);
    assert_int_equal(t->target_count, 1);
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 6, NULL), 0);
    assert_int_equal(t->targets[1].bit, 2);
    toll_tracker_free(t);
}

static void test_the_end_of_all(void **state)
{
    struct toll_tracker *t = make();
    assert_int_equal(targets_end(t, 99), 99);
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 5, NULL), 0);
    assert_int_equal(add(t, TOLL_TARGET_GROUP, 6, NULL), 0);
    t->targets[0].ended = true;
    t->targets[0].end_ns = 40;
    assert_int_equal(targets_end(t, 99), 99); /* one goes on */
    t->targets[1].ended = true;
    t->targets[1].end_ns = 30;
    assert_int_equal(targets_end(t, 99), 40);
    toll_tracker_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_is_the_whole),
        cmocka_unit_test(test_several_have_a_union),
        cmocka_unit_test(test_63_and_no_more),
        cmocka_unit_test(test_one_that_is_refused_leaves_nothing),
        cmocka_unit_test(test_the_end_of_all),
    };
    return RUN("targets", tests);
}
