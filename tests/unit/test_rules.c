/* SPDX-License-Identifier: MIT */
#include "engine/target/membership.h"

#include "proc_tree.h"

#include "engine/target/targets.h"

struct case_of {
    struct tree tree;
    struct toll_tracker *t;
};

static void add(struct case_of *c, enum toll_target_kind kind, pid_t id, const char *text)
{
    struct toll_target asked = {.size = sizeof asked, .kind = kind, .id = id, .text = text};
    assert_int_equal(targets_add(c->t, &asked, NULL), 0);
}

static void begin(struct case_of *c)
{
    struct toll_options o = {.size = sizeof o};
    tree_make(&c->tree);
    tree_write(&c->tree, "proc/version", "Linux\n");
    assert_int_equal(toll_tracker_new(&c->t, &o, NULL), 0);
    assert_int_equal(sysroot_open(&c->t->root, c->tree.path, NULL), 0);
    assert_int_equal(process_reader_init(&c->t->reader, &c->t->root, ~UINT64_C(0)), 0);
}

static void end(struct case_of *c)
{
    toll_tracker_free(c->t);
    tree_remove(&c->tree);
}

static void test_group_session_user(void **state)
{
    struct case_of c;
    begin(&c);
    add(&c, TOLL_TARGET_GROUP, 10, NULL);
    add(&c, TOLL_TARGET_SESSION, 20, NULL);
    add(&c, TOLL_TARGET_USER, 0, "1000");
    assert_int_equal(targets_open_books(c.t), 0);
    proc_write(&c.tree, 7, "status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n");
    proc_write(&c.tree, 8, "status", "Name:\tx\nUid:\t1001\t1001\t1001\t1001\n");
    assert_int_equal(rules_that_cost(c.t), 4);
    struct process p = {.entity = {.pid = 7}, .group = 10, .session = 20};
    assert_int_equal(rules_of(c.t, &p, 0, true), 7);
    assert_int_equal(rules_of(c.t, &p, 0, false), 3); /* who it belongs to is dear to ask */
    p = (struct process){.entity = {.pid = 8}, .group = 11, .session = 20};
    assert_int_equal(rules_of(c.t, &p, 0, true), 2);
    p = (struct process){.entity = {.pid = 9}}; /* gone by now */
    assert_int_equal(rules_of(c.t, &p, 0, true), 0);
    assert_int_equal(rules_of(c.t, &p, 7, true), 4); /* it has not become somebody else's */
    end(&c);
}

static void test_matches(void **state)
{
    struct case_of c;
    begin(&c);
    add(&c, TOLL_TARGET_MATCH, 0, "^/bin/job -x");
    add(&c, TOLL_TARGET_MATCH, 0, "kworker|job");
    assert_int_equal(targets_open_books(c.t), 0);
    assert_true(c.t->discovery.by_match && c.t->discovery.by_scan);
    char path[512];
    tree_write(&c.tree, "proc/7/cmdline", "");
    FILE *f = fopen(tree_path(&c.tree, path, "proc/7/cmdline"), "w");
    assert_non_null(f);
    assert_int_equal(fwrite("/bin/job\0-x\0", 1, 12, f), 12); /* words end with a zero */
    fclose(f);
    assert_int_equal(rules_matching(c.t, 7), 3);
    tree_write(&c.tree, "proc/8/cmdline", "");
    tree_write(&c.tree, "proc/8/comm", "kworker/0:1\n"); /* has no command line */
    assert_int_equal(rules_matching(c.t, 8), 2);
    tree_write(&c.tree, "proc/9/cmdline", "other");
    assert_int_equal(rules_matching(c.t, 9), 0);
    assert_int_equal(rules_matching(c.t, 10), 0);
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_session_user),
        cmocka_unit_test(test_matches),
    };
    return RUN("rules", tests);
}
